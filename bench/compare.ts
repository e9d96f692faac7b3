import type { LoadProcess } from "./load-process.ts";
import { median } from "./load/percentile.ts";
import type { Contestant, Operation, Opponent } from "./contestant.ts";
import { readUsage } from "./process-usage.ts";

export interface Run {
  readonly name: string;
  readonly round: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU time of the process under load, in milliseconds. */
  readonly cpuMsPerRequest: number;
  readonly rssMb: number;
}

/** An operation relative to its floor. For every figure except throughput, lower is better. */
export interface Comparison {
  readonly name: string;
  readonly floor: string;
  readonly goal: number | undefined;
  /** Medians over the rounds of ratios within a round. */
  readonly throughput: number;
  readonly cpu: number;
  readonly p50: number;
  readonly p99: number;
  readonly rss: number;
}

const WARM_UP_SECONDS = 1;

/** Runs every contestant once per round in random order, and the floors twice. */
export async function runRounds(
  load: LoadProcess,
  floors: readonly Contestant[],
  operations: readonly Operation[],
  rounds: number,
  report: (run: Run) => void,
): Promise<readonly Run[]> {
  const used = floors.filter(({ name }) =>
    operations.some(({ against }) => against.some(({ floor }) => floor === name)),
  );
  const controls = used.map((each) => ({ ...each, name: controlOf(each.name) }));
  for (const each of [...used, ...operations]) await load.run({ ...each.job, seconds: WARM_UP_SECONDS });
  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const contestant of shuffle([...used, ...controls, ...operations])) {
      const run = await measure(load, contestant, round);
      runs.push(run);
      report(run);
    }
  }
  return runs;
}

async function measure(load: LoadProcess, { name, subject, job }: Contestant, round: number): Promise<Run> {
  const before = await readUsage(subject.pid);
  const { good, seconds, p50, p99 } = await load.run(job);
  const after = await readUsage(subject.pid);
  const cpuMsPerRequest = (after.cpuMs - before.cpuMs) / good;
  return { name, round, perSecond: good / seconds, p50, p99, cpuMsPerRequest, rssMb: after.rssMb };
}

/** Divides every operation, and every floor's second run, by the floor of the same round. */
export function compare(runs: readonly Run[], operations: readonly Operation[]): readonly Comparison[] {
  const opponents = operations.flatMap(({ against }) => against);
  const floors = [...new Set(opponents.map(({ floor }) => floor))];
  return [
    ...floors.map((floor) =>
      comparison(`${floor} again`, { floor }, named(runs, controlOf(floor)), named(runs, floor)),
    ),
    ...operations.flatMap(({ name, against }) =>
      against.map((opponent) => {
        const { floor } = opponent;
        return comparison(name, opponent, named(runs, name), [...named(runs, floor), ...named(runs, controlOf(floor))]);
      }),
    ),
  ];
}

/** The additional latency of a request within a round, in milliseconds: the median of the differences of medians. */
export function addedMedianMs(runs: readonly Run[], name: string, floor: string): number {
  const direct = named(runs, floor);
  return median(
    named(runs, name).map(
      (run) => run.p50 - mean(direct.filter(({ round }) => round === run.round).map((each) => each.p50)),
    ),
  );
}

/** The median over the rounds of the 99th percentile, in milliseconds. */
export function medianP99Ms(runs: readonly Run[], name: string): number {
  return median(named(runs, name).map(({ p99 }) => p99));
}

function comparison(
  name: string,
  { floor: floorName, goal }: Opponent,
  own: readonly Run[],
  floor: readonly Run[],
): Comparison {
  const ratio = (figure: (run: Run) => number): number =>
    median(own.map((run) => figure(run) / mean(floor.filter(({ round }) => round === run.round).map(figure))));
  return {
    name,
    floor: floorName,
    goal,
    throughput: ratio(({ perSecond }) => perSecond),
    cpu: ratio(({ cpuMsPerRequest }) => cpuMsPerRequest),
    p50: ratio(({ p50 }) => p50),
    p99: ratio(({ p99 }) => p99),
    rss: ratio(({ rssMb }) => rssMb),
  };
}

function named(runs: readonly Run[], name: string): readonly Run[] {
  return runs.filter((run) => run.name === name);
}

function controlOf(floor: string): string {
  return `${floor}-control`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function shuffle<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
