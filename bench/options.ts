import { parseArgs } from "node:util";

export interface BenchOptions {
  /** Names, or prefixes of names, of the measurements; empty for all. */
  readonly only: readonly string[];
  /** The duration of one run, in seconds. */
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  /** Whether to keep the raw results in bench/results/. */
  readonly keep: boolean;
}

/** Reads `--only rest-list,call --seconds 3 --rounds 5 --connections 32 --no-keep`. */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      only: { type: "string", default: "" },
      seconds: { type: "string", default: "3" },
      rounds: { type: "string", default: "5" },
      connections: { type: "string", default: "32" },
      keep: { type: "boolean", default: true },
    },
  });
  return {
    only: values.only.split(",").filter((name) => name !== ""),
    seconds: positive("seconds", values.seconds),
    rounds: positive("rounds", values.rounds),
    connections: positive("connections", values.connections),
    keep: values.keep,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (number > 0) return number;
  throw new Error(`--${name} must be a number above 0`);
}

export function isWanted(options: BenchOptions, name: string): boolean {
  return options.only.length === 0 || options.only.some((each) => name.startsWith(each));
}
