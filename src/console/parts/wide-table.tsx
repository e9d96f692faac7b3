import { Table } from "@mantine/core";
import type { ReactNode } from "react";

interface DescribedColumn {
  readonly head: ReactNode;
  /** In pixels, where it is not to be found by itself. */
  readonly width?: number;
  /** Whether phones go without it; its cells must too. A table that has such columns is as wide as a phone there. */
  readonly isOptional?: boolean;
}

/** The head of one column: its words, or more. */
export type Column = ReactNode | DescribedColumn;

function isDescribed(column: Column): column is DescribedColumn {
  return typeof column === "object" && column !== null && "head" in column;
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
  const hasOptional = columns.some((column) => isDescribed(column) && column.isOptional === true);
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <Table
        miw={{ base: hasOptional ? 0 : minWidth, sm: minWidth }}
        {...(spacing !== undefined && { verticalSpacing: spacing })}
      >
        <Table.Thead>
          <Table.Tr>
            {columns.map((column, at) =>
              isDescribed(column) ? (
                <Table.Th
                  key={at}
                  {...(column.width !== undefined && { w: column.width })}
                  {...(column.isOptional === true && { visibleFrom: "sm" })}
                >
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
