import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { type Arena, openArena } from "./arena.ts";
import { measureAuthentication } from "./authentication.ts";
import { measureColdStart } from "./cold-start.ts";
import { readBounds } from "./bounds.ts";
import { compare, runRounds } from "./compare.ts";
import { http1 } from "./contestant.ts";
import { measureFairness } from "./fair.ts";
import { measureHostile } from "./hostile.ts";
import { type LoadProcess, startLoadProcess } from "./load-process.ts";
import { relayedCalls } from "./mcp-operations.ts";
import { measureMemory } from "./memory.ts";
import { type AddedLatency, measureAddedLatency, measureOverload } from "./open-loop.ts";
import { listFloors, listOperations, relayRequest } from "./operations.ts";
import { type BenchOptions, isWanted, readOptions } from "./options.ts";
import { describe, type Results } from "./report.ts";

const options = readOptions(process.argv.slice(2));
const coldStart = isWanted(options, "cold-start") ? { coldStart: await measureColdStart() } : {};
const hostile = isWanted(options, "hostile") ? { hostile: await measureHostile() } : {};
const withMcp =
  options.only.length === 0 ||
  options.only.some((name) => name.startsWith("mcp") || name === "added-latency" || name === "fair");
const arena = await openArena(options.connections, withMcp);
const load = startLoadProcess();
try {
  const results: Results = { ...coldStart, ...hostile, ...(await drive(arena, load, options)) };
  console.log(`\n${describe(results)}`);
  if (options.keep) await keep(results, options);
} finally {
  load.stop();
  await arena.close();
}

async function drive(arena: Arena, load: LoadProcess, options: BenchOptions): Promise<Results> {
  const floors = listFloors(arena, options);
  const all = await listOperations(arena, options);
  const [list] = all;
  const direct = floors.find(({ name }) => name === "floor-call");
  const operations = all.filter(({ name }) => isWanted(options, name));
  let results: Results = {};
  if (list !== undefined && isWanted(options, "memory")) {
    results = { ...results, memory: await measureMemory(load, list) };
  }
  if (operations.length > 0) {
    const runs = await runRounds(
      load,
      floors,
      operations,
      options.rounds,
      ({ name, perSecond, cpuMsPerRequest, p99 }) =>
        console.log(
          `${name.padEnd(32)}${perSecond.toFixed(0).padStart(8)}/s ${(cpuMsPerRequest * 1_000).toFixed(0).padStart(6)} µs CPU  p99 ${p99.toFixed(1)} ms`,
        ),
    );
    results = { ...results, comparisons: compare(runs, operations), bounds: readBounds(runs, operations), runs };
  }
  if (direct !== undefined && isWanted(options, "added-latency")) {
    const addedLatency: AddedLatency[] = [];
    const rest = http1("REST call", arena.service, [relayRequest(arena)], "Echo: hello", options);
    for (const relayed of [rest, ...(arena.mcp === undefined ? [] : relayedCalls(arena.mcp, options))]) {
      addedLatency.push(await measureAddedLatency(load, direct, relayed, options));
    }
    results = { ...results, addedLatency };
  }
  if (list !== undefined && isWanted(options, "authentication")) {
    results = { ...results, authentication: await measureAuthentication(load, arena, list, options) };
  }
  if (list !== undefined && isWanted(options, "overload")) {
    results = { ...results, overload: await measureOverload(load, list, options) };
  }
  if (isWanted(options, "fair")) {
    results = { ...results, fairness: await measureFairness(load, arena, options) };
  }
  return results;
}

async function keep(results: Results, options: BenchOptions): Promise<void> {
  const folder = new URL("results/", import.meta.url);
  const file = new URL(`${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.json`, folder);
  const machine = { node: process.version, cores: availableParallelism() };
  await mkdir(folder, { recursive: true });
  await writeFile(
    file,
    `${JSON.stringify({ machine, options, ...results }, (_, value: unknown) => rounded(value), 1)}\n`,
  );
  console.log(`\nkept in ${file.pathname}`);
}

function rounded(value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(5)) : value;
}
