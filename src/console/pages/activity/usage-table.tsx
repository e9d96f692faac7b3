import { Table } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";
import { WideTable } from "../../parts/wide-table.tsx";

const NUMBER = new Intl.NumberFormat();
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

function inMs(value: number | undefined): string {
  return value === undefined ? "–" : `${NUMBER.format(value)} ms`;
}

/** Usage, one row per group. */
export function UsageTable({
  label,
  rows,
  nameOf,
}: {
  readonly label: string;
  readonly rows: readonly Schemas["Usage"][];
  readonly nameOf: (row: Schemas["Usage"]) => string;
}) {
  return (
    <WideTable label={label} columns={[label, "Calls", "Error rate", "p50", "p95", "p99"]} minWidth={620}>
      {rows.map((row) => (
        <Table.Tr key={nameOf(row)}>
          <Table.Td>{nameOf(row)}</Table.Td>
          <Table.Td>{NUMBER.format(row.calls)}</Table.Td>
          <Table.Td>{PERCENT.format(row.error_rate)}</Table.Td>
          <Table.Td>{inMs(row.p50_ms)}</Table.Td>
          <Table.Td>{inMs(row.p95_ms)}</Table.Td>
          <Table.Td>{inMs(row.p99_ms)}</Table.Td>
        </Table.Tr>
      ))}
    </WideTable>
  );
}
