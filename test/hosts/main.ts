import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isJsonObject } from "../../src/json.ts";
import { missing, runTool } from "../clients/run-tool.ts";
import { startControl } from "./control.ts";
import { FASTMCP, PYTHON_SDK_V1, PYTHON_SDK_V2 } from "./python.ts";
import { GO_SDK, MCP_GO } from "./go.ts";
import { JAVA_SDK } from "./java.ts";
import type { HostProgram } from "./host-program.ts";
import { LOCAL_HOSTS } from "./local-hosts.ts";
import { startMatrixService } from "./matrix-service.ts";
import { runHost } from "./run-host.ts";
import { type HostRow, isStep, printMatrix, type StepResult } from "./matrix.ts";

/**
 * Runs MCP clients, most of them in other languages, against a service whose connections lead to the upstreams of the
 * matrix, and writes `matrix.md`. A client without its toolchain is skipped by name. Usage: `npm run test:hosts` for all clients,
 * `npm run test:hosts -- mcp-go fastmcp` for some.
 */
const PROGRAMS: readonly HostProgram[] = [PYTHON_SDK_V1, PYTHON_SDK_V2, FASTMCP, GO_SDK, MCP_GO, JAVA_SDK];

const wanted = process.argv.slice(2).map((name) => name.toLowerCase());
const isWanted = ({ name }: { readonly name: string }): boolean =>
  wanted.length === 0 || wanted.some((word) => name.toLowerCase().includes(word));
const [hosts, programs] = [LOCAL_HOSTS.filter(isWanted), PROGRAMS.filter(isWanted)];
const data = await mkdtemp(join(tmpdir(), "patchbay-hosts-"));
const service = await startMatrixService({ env: { DATA_DIR: data } });
const control = await startControl(service.upstreams);
const rows: HostRow[] = [];
const skipped: string[] = [];
try {
  for (const host of hosts) {
    const results: StepResult[] = [];
    for (const upstream of service.upstreams) results.push(...(await runHost(host, upstream, service.token)));
    rows.push({ program: host, results });
  }
  for (const program of programs) {
    const absent = missing(program.needs);
    if (absent.length > 0) skipped.push(`${program.name} (no ${absent.join(", ")})`);
    else rows.push({ program, results: await run(program) });
  }
} finally {
  await control.close();
  await service.close();
  await rm(data, { recursive: true, force: true });
}
const { table, faults } = printMatrix(
  rows,
  service.upstreams.map(({ story, lacks }) => ({ upstream: story.upstream, lacks })),
);
if (wanted.length === 0 && skipped.length === 0) await writeFile(new URL("matrix.md", import.meta.url), table);
console.log(table);
for (const fault of faults) console.error(fault);
if (skipped.length > 0) console.log(`skipped: ${skipped.join(", ")}`);
process.exitCode = faults.length > 0 || rows.length === 0 ? 1 : 0;

async function run(program: HostProgram): Promise<readonly StepResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-host-"));
  try {
    const { command, args, folder: at, env } = await program.build(folder);
    const matrix = service.upstreams.map(({ story, url }, index) => ({
      ...story,
      url: url.href,
      control: `${control.url}/${index}`,
    }));
    const output = await runTool(command, args, {
      env: { ...env, MATRIX: JSON.stringify(matrix), TOKEN: service.token },
      ...(at !== undefined && { folder: at }),
    });
    return resultsIn(output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The lines of JSON that a program prints; other lines are the library's. */
function resultsIn(output: string): readonly StepResult[] {
  return output.split("\n").flatMap((line) => {
    if (!line.startsWith("{")) return [];
    const said: unknown = JSON.parse(line);
    if (!isJsonObject(said)) return [];
    const { upstream, step, result } = said;
    if (typeof upstream !== "string" || !isStep(step) || typeof result !== "string") return [];
    return [{ upstream, step, result }];
  });
}
