import { addedMedianMs, medianP99Ms, type Run } from "./compare.ts";
import type { Operation } from "./contestant.ts";

/** A time with an upper bound, in milliseconds. */
export interface Bound {
  readonly what: string;
  readonly ms: number;
  readonly atMostMs: number;
}

/** The time that relaying may add to a call at one connection. */
const ADDED_MS = 0.5;
const RELAYED = /^mcp-relay-\w+-call-1$/;

export function readBounds(runs: readonly Run[], operations: readonly Operation[]): readonly Bound[] {
  return operations.flatMap(({ name, p99GoalMs, against }) => {
    const direct = against.find(({ floor }) => floor.startsWith("echo"))?.floor;
    return [
      ...(p99GoalMs === undefined
        ? []
        : [{ what: `${name}: p99, ms`, ms: medianP99Ms(runs, name), atMostMs: p99GoalMs }]),
      ...(direct === undefined || !RELAYED.test(name)
        ? []
        : [{ what: `${name}: added p50, ms`, ms: addedMedianMs(runs, name, direct), atMostMs: ADDED_MS }]),
    ];
  });
}
