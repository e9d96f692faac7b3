import type { Authentication } from "./authentication.ts";
import type { Bound } from "./bounds.ts";
import type { ColdStart } from "./cold-start.ts";
import type { Comparison, Run } from "./compare.ts";
import type { HostileGap } from "./hostile.ts";
import type { MemoryGrowth } from "./memory.ts";
import type { AddedLatency, Overload } from "./open-loop.ts";
import type { Fairness } from "./fair.ts";

/** All results of one run. */
export interface Results {
  readonly coldStart?: ColdStart;
  readonly hostile?: readonly HostileGap[];
  readonly memory?: MemoryGrowth;
  readonly comparisons?: readonly Comparison[];
  readonly bounds?: readonly Bound[];
  readonly addedLatency?: readonly AddedLatency[];
  readonly authentication?: Authentication;
  readonly overload?: Overload;
  readonly fairness?: readonly Fairness[];
  readonly runs?: readonly Run[];
}

/** A figure with its goal. */
type Line = readonly [what: string, value: string, goal: string, isMet: boolean | undefined];

/** The table of ratios, then the other figures with their goals. */
export function describe(results: Results): string {
  const comparisons = results.comparisons ?? [];
  const table =
    comparisons.length === 0
      ? []
      : [
          row(["× floor (median)", "floor", "throughput", "goal", "met", "CPU/request", "p50", "p99", "RSS"]),
          ...comparisons.map(({ name, floor, goal, throughput, cpu, p50, p99, rss }) =>
            row([
              name,
              floor,
              throughput.toFixed(2),
              goal?.toFixed(2) ?? "",
              goal === undefined ? "" : throughput >= goal ? "yes" : "no",
              ...[cpu, p50, p99, rss].map((ratio) => ratio.toFixed(2)),
            ]),
          ),
          "",
        ];
  return [...table, ...lines(results).map(line)].join("\n");
}

function lines({
  coldStart,
  hostile = [],
  memory,
  bounds = [],
  addedLatency = [],
  authentication,
  overload,
  fairness = [],
}: Results): Line[] {
  const all: Line[] = [];
  for (const { name, gapMs, answer } of hostile)
    all.push(atMost(`${name} (${answer}): gap of /healthz, ms`, gapMs, 200, 0));
  for (const { what, ms, atMostMs } of bounds) all.push(atMost(what, ms, atMostMs, 2));
  for (const { name, p50, p99 } of addedLatency) {
    all.push(atMost(`${name}, 1,000/s: added p50, ms`, p50, 0.3, 2));
    all.push(atMost(`${name}, 1,000/s: added p99, ms`, p99, 3, 2));
  }
  if (authentication !== undefined) {
    const { tokensPerSecond, tokenCpuMs, knownTokenUs, otherConnectionUs, gateShare } = authentication;
    all.push(["tokens issued a second", tokensPerSecond.toFixed(0), "", undefined]);
    all.push(["CPU of issuing one, ms", tokenCpuMs.toFixed(2), "", undefined]);
    all.push(["gate with a known token, µs", knownTokenUs.toFixed(2), "", undefined]);
    all.push(["gate with it on another connection, µs", otherConnectionUs.toFixed(2), "", undefined]);
    all.push(atMost("gate as a share of a list, %", gateShare * 100, 5, 1));
  }
  if (overload !== undefined) {
    all.push(["overload: offered, requests/s", String(overload.offeredPerSecond), "", undefined]);
    all.push(["overload: goodput × saturation", overload.goodput.toFixed(2), "0.85", overload.goodput >= 0.85]);
    all.push(atMost("overload: p99 of accepted, ms", overload.p99, 100, 0));
    all.push(["overload: share of 503", overload.refused.toFixed(2), "", undefined]);
  }
  for (const { name, isControl, idleP99, floodedP99, refused, floodServed, floodRefused } of fairness) {
    const figures = `${floodedP99.toFixed(1)} / ${idleP99.toFixed(1)}`;
    all.push([`fair, ${name}: quiet p99 flooded / idle, ms`, figures, "", undefined]);
    if (isControl === true) continue;
    all.push(atMost(`fair, ${name}: their ratio`, floodedP99 / idleP99, 3, 2));
    all.push(atMost(`fair, ${name}: quiet requests refused`, refused, 0, 0));
    all.push([
      `fair, ${name}: flood served + refused, /s`,
      `${floodServed.toFixed(0)} + ${floodRefused.toFixed(0)}`,
      "",
      undefined,
    ]);
  }
  if (coldStart !== undefined) {
    all.push(atMost("first start, ms", coldStart.firstStartMs, 3_000, 0));
    all.push(atMost("second start, ms", coldStart.secondStartMs, 3_000, 0));
    all.push(atMost("idle after first start, MB", coldStart.firstIdleMb, 150, 0));
    all.push(atMost("idle after second start, MB", coldStart.secondIdleMb, 150, 0));
  }
  if (memory !== undefined) {
    all.push(atMost("after 100,000 requests, MB", memory.workedMb, memory.idleMb * 1.3, 0));
  }
  return all;
}

function atMost(what: string, value: number, goal: number, digits: number): Line {
  return [what, value.toFixed(digits), `≤ ${goal.toFixed(digits)}`, value <= goal];
}

function line([what, value, goal, isMet]: Line): string {
  return `${what.padEnd(56)}${value.padStart(9)}  ${goal.padEnd(8)}${isMet === undefined ? "" : isMet ? "yes" : "no"}`;
}

function row([first = "", second = "", ...others]: readonly string[]): string {
  return first.padEnd(36) + second.padEnd(28) + others.map((cell) => cell.padStart(12)).join("");
}
