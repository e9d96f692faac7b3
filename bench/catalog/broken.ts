import type { JsonObject } from "../../src/json.ts";
import type { BenchOptions } from "../options.ts";
import { createCaller } from "../rest-caller.ts";
import { createTenant, openSession } from "../tenant.ts";
import { middle } from "./calls.ts";
import { closedLoop, type LoopRequest, type LoopResult } from "./closed-loop.ts";
import type { Place } from "./place.ts";

/** Calls through healthy connections while an upstream of another connection fails. */
export interface BesideBroken {
  /** The kind of failure; `nothing` for the comparison. */
  readonly way: string;
  /** The other calls. */
  readonly others: LoopResult;
}

const WAYS = ["nothing", "hangs", "drips", "floods", "resets", "nothing again"] as const;
/** Concurrent calls through the failing connection: the maximum of one connection. */
const BROKEN_WIDTH = 64;
const OTHERS_WIDTH = 8;

/** Calls a healthy connection while another one of the same account is called at its limit. */
export async function measureBesideBroken(place: Place, options: BenchOptions): Promise<readonly BesideBroken[]> {
  const responses = { "200": { description: "ok" } };
  const operations = ["hangs", "drips", "floods", "resets"].map((way) => [
    `/broken/${way}`,
    { get: { operationId: way, responses } },
  ]);
  const spec: JsonObject = {
    openapi: "3.1.0",
    info: { title: "Upstream", version: "1" },
    servers: [{ url: place.upstream }],
    paths: { "/fine": { get: { operationId: "fine", responses } }, ...Object.fromEntries(operations) },
  };
  const target = {
    server_type: "openapi",
    configuration: { spec: JSON.stringify(spec), api_token: "a-key-of-the-upstream" },
  };
  const tenant = await createTenant(place.env, place.service, target, 2);
  const [healthy, broken] = tenant.connectionIds;
  const session = await openSession(place.service, tenant);
  const call = createCaller(place.service.url, tenant.token);
  for (const id of tenant.connectionIds) {
    // The first use of a document starts the process that reads it.
    while (!JSON.stringify(await call("GET", `/api/v1/mcp-servers/${String(id)}/tools`)).includes('"fine"')) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const requestFor = (name: string, expected: string): LoopRequest => ({
    origin: place.service.url,
    path: "/mcp/tools/call",
    method: "POST",
    headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json", "x-session-id": session },
    body: JSON.stringify({ name, arguments: {} }),
    expected,
  });
  const fine = requestFor(`fine__${String(healthy)}`, '"isError":false');
  await closedLoop(fine, OTHERS_WIDTH, 1);
  const results: BesideBroken[] = [];
  for (const way of WAYS) {
    const rounds: LoopResult[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const stop = new AbortController();
      const breaking = way.startsWith("nothing")
        ? Promise.resolve()
        : keepCalling(requestFor(`${way}__${String(broken)}`, ""), stop.signal);
      rounds.push(await closedLoop(fine, OTHERS_WIDTH, options.seconds));
      stop.abort();
      await breaking;
    }
    results.push({ way, others: middle(rounds) });
  }
  return results;
}

/** Keeps calls in flight until stopped, regardless of their results. Pauses after a refusal. */
async function keepCalling({ origin, path, headers, body }: LoopRequest, signal: AbortSignal): Promise<void> {
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      await fetch(`${origin}${path}`, { method: "POST", headers, body: body ?? null, signal })
        .then(async (response) => response.text())
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: BROKEN_WIDTH }, work));
}
