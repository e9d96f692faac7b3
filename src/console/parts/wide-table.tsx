import { Table } from "@mantine/core";
import type { ReactNode } from "react";

/** The head of one column: its words, and its width in pixels where it is not to be found by itself. */
export type Column = ReactNode | { readonly head: ReactNode; readonly width: number };

function isSized(column: Column): column is { readonly head: ReactNode; readonly width: number } {
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
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <Table miw={minWidth} {...(spacing !== undefined && { verticalSpacing: spacing })}>
        <Table.Thead>
          <Table.Tr>
            {columns.map((column, at) =>
              isSized(column) ? (
                <Table.Th key={at} w={column.width}>
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
