import type { HostProgram } from "./host-program.ts";
import { type Lack, type Step, STEPS } from "./story.ts";

export interface StepResult {
  readonly upstream: string;
  readonly step: Step;
  /** `yes`, or what went wrong. */
  readonly result: string;
}

export interface HostRow {
  readonly program: Pick<HostProgram, "name" | "version" | "lacks">;
  readonly results: readonly StepResult[];
}

export interface MatrixColumn {
  readonly upstream: string;
  readonly lacks: Partial<Record<Step, Lack>>;
}

export function isStep(value: unknown): value is Step {
  return STEPS.some((step) => step === value);
}

/** Returns the matrix as Markdown, and a sentence for every cell that is not as expected. */
export function printMatrix(
  rows: readonly HostRow[],
  columns: readonly MatrixColumn[],
): { readonly table: string; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const evidence = new Map<string, string>();
  const cell = ({ program, results }: HostRow, { upstream, lacks }: MatrixColumn, step: Step): string => {
    const found = results.find((one) => one.upstream === upstream && one.step === step)?.result;
    const ofUpstream = lacks[step];
    const lack = ofUpstream ?? program.lacks[step];
    if (lack === undefined) {
      if (found !== "yes") faults.push(`${program.name}, ${upstream}, ${step}: ${found ?? "no result"}`);
      return found === "yes" ? "yes" : "**FAILS**";
    }
    if (found !== undefined && found !== lack.word)
      faults.push(`${program.name}, ${upstream}, ${step}: ${found}, although it is said to be ${lack.word}`);
    const subject = ofUpstream === undefined ? `${program.name} ${program.version}` : upstream;
    evidence.set(`${subject}, ${step}: ${lack.word}`, lack.evidence);
    return lack.word;
  };
  const lines = rows.flatMap((row) =>
    columns.map((column) => {
      const cells = STEPS.map((step) => cell(row, column, step));
      return `| ${[`${row.program.name} ${row.program.version}`, column.upstream, ...cells].join(" | ")} |`;
    }),
  );
  const table = [
    "# Real clients",
    "",
    "What each client does through Patchbay with each upstream: lists the tools, calls one, receives its progress, cancels a call,",
    "and answers when it is asked for input. Written by `npm run test:hosts`.",
    "",
    `| client | upstream | ${STEPS.join(" | ")} |`,
    `|${"---|".repeat(STEPS.length + 2)}`,
    ...lines,
    "",
    ...[...evidence].map(([what, how]) => `- ${what}. ${how}`),
    "",
  ].join("\n");
  return { table, faults };
}
