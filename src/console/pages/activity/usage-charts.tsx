import "@mantine/charts/styles.css";
import { BarChart, LineChart } from "@mantine/charts";
import { SimpleGrid, Stack, Text, Title } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";

type Usage = Schemas["Usage"];

const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

function dayInWords(day: string | undefined): string {
  return day === undefined ? "" : DAY.format(new Date(`${day}T00:00:00Z`));
}

function Chart({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

/** Calls, latency and errors by day. The table below has the same numbers for people who cannot see charts. */
export function UsageCharts({ days }: { readonly days: readonly Usage[] }) {
  const rows = days.map((each) => ({
    day: dayInWords(each.day),
    Worked: each.ok,
    Failed: each.calls - each.ok,
    "Half within": each.p50_ms ?? 0,
    "95% within": each.p95_ms ?? 0,
    "Error rate": each.error_rate,
  }));
  if (rows.length === 0) return <Text c="dimmed">Nothing was called in this time.</Text>;
  return (
    <SimpleGrid cols={{ base: 1, md: 3 }} spacing="xl" aria-hidden>
      <Chart title="Calls a day">
        <BarChart
          h={220}
          data={rows}
          dataKey="day"
          type="stacked"
          withLegend
          series={[
            { name: "Worked", color: "teal.7" },
            { name: "Failed", color: "red.7" },
          ]}
        />
      </Chart>
      <Chart title="How long they took, ms">
        <LineChart
          h={220}
          data={rows}
          dataKey="day"
          withLegend
          series={[
            { name: "Half within", color: "cyan.7" },
            { name: "95% within", color: "grape.7" },
          ]}
        />
      </Chart>
      <Chart title="Error rate">
        <LineChart
          h={220}
          data={rows}
          dataKey="day"
          valueFormatter={(value) => PERCENT.format(value)}
          series={[{ name: "Error rate", color: "red.7" }]}
        />
      </Chart>
    </SimpleGrid>
  );
}
