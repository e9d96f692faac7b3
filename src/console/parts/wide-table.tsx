import { Table } from "@mantine/core";
import type { ReactNode } from "react";

interface DescribedColumn {
  readonly head: ReactNode;
  /** In pixels. Default: automatic. */
  readonly width?: number;
  /** Whether phones omit this column; its cells must be omitted too. */
  readonly isOptional?: boolean;
}

/** The header of a column: a text or an element. */
export type Column = ReactNode | DescribedColumn;

function isDescribed(column: Column): column is DescribedColumn {
  return typeof column === "object" && column !== null && "head" in column;
}

/** A table that scrolls horizontally if the window is narrower, also with the keyboard. Its children are its rows. */
export function WideTable({
  label,
  columns,
  minWidth,
  spacing,
  children,
}: {
  /** The label for assistive technology. */
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
