import { Table } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";

const NUMBER = new Intl.NumberFormat();
const PERCENT = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

function inMs(value: number | undefined): string {
  return value === undefined ? "–" : `${NUMBER.format(value)} ms`;
}

/** Usage by whatever it was grouped by, one a row. */
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
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <Table miw={620}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{label}</Table.Th>
            <Table.Th>Calls</Table.Th>
            <Table.Th>Error rate</Table.Th>
            <Table.Th>p50</Table.Th>
            <Table.Th>p95</Table.Th>
            <Table.Th>p99</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
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
        </Table.Tbody>
      </Table>
    </div>
  );
}
