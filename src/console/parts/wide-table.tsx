import { Table } from "@mantine/core";
import type { ReactNode } from "react";

interface SizedColumn {
  readonly head: ReactNode;
  /** In pixels. */
  readonly width: number;
  /** Whether phones go without it; its cells must too. A table that has such columns is as wide as a phone there. */
  readonly isOptional?: boolean;
}

/** The head of one column: its words, and its width where it is not to be found by itself. */
export type Column = ReactNode | SizedColumn;

function isSized(column: Column): column is SizedColumn {
  return typeof column === "object" && column !== null && "width" in column;
}

/** A table that scrolls sideways by itself where the window is narrower than it, also with the keyboard. Its children are its rows. */
export function WideTable({
  label,
  columns,
  minWidth,
  spacing,
  children,
}: {
  /** What the table holds, for assistive technology. */
  readonly label: string;
  readonly columns: readonly Column[];
  /** In pixels. */
  readonly minWidth: number;
  readonly spacing?: "xs" | "sm";
  readonly children: ReactNode;
}) {
  const hasOptional = columns.some((column) => isSized(column) && column.isOptional === true);
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <Table
        miw={{ base: hasOptional ? 0 : minWidth, sm: minWidth }}
        {...(spacing !== undefined && { verticalSpacing: spacing })}
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map((column, at) =>
              isSized(column) ? (
                <Table.Th key={at} w={column.width} {...(column.isOptional === true && { visibleFrom: "sm" })}>
                  {column.head}
                </Table.Th>
              ) : (
                <Table.Th key={at}>{column}</Table.Th>
              ),
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </div>
  );
}
