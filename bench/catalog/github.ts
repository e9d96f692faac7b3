import { openAccounts } from "../../test/support/accounts.ts";
import { percentile } from "../load/percentile.ts";
import { readUsage } from "../process-usage.ts";
import { createCaller } from "../rest-caller.ts";
import type { Place } from "./place.ts";

/** The cost of GitHub's document. Times in milliseconds, memory of the service's process in MB. */
export interface GithubCosts {
  readonly tools: number;
  /** From creating the first connection to its first page of tools: fetch, convert, store. */
  readonly importMs: number;
  /** The same for the second connection. */
  readonly againMs: number;
  readonly searchFirstMs: number;
  readonly searchAgainMs: number;
  readonly oneConnectionMb: number;
  readonly connections: number;
  readonly manyConnectionsMb: number;
  /** Median and maximum of a hundred pages of tools of different connections. */
  readonly pageP50Ms: number;
  readonly pageP99Ms: number;
  /** A search in an account with a thousand of these connections. */
  readonly wideSearchMs: number;
}

const ACCOUNTS = 10;
const CONNECTIONS_EACH = 1_000;
const SETTLE_MS = 3_000;

/** Connects ten accounts with a thousand connections each to the document, and uses all of them. */
export async function measureGithub(place: Place): Promise<GithubCosts> {
  const accounts = await openAccounts(place.env);
  const spec = { server_type: "openapi", configuration: { spec_url: `${place.upstream}/openapi.json` } };
  const callers = await Promise.all(
    Array.from({ length: ACCOUNTS }, async () =>
      createCaller(place.service.url, await (await accounts.create()).token()),
    ),
  );
  await accounts.close();
  const [first] = callers;
  if (first === undefined) throw new Error("there is no account");
  const connect = async (call: Caller): Promise<string> =>
    String((await call("POST", "/api/v1/mcp-servers", spec))["server_id"]);
  const list = async (call: Caller, id: string, limit: number): Promise<number> =>
    countOf(await call("GET", `/api/v1/mcp-servers/${id}/tools?limit=${limit}`));

  let tools = 0;
  const importMs = await timed(async () => (tools = await list(first, await connect(first), 500)));
  const againMs = await timed(async () => list(first, await connect(first), 500));
  const search = () => first("GET", "/api/v1/tools/search?q=create+an+issue");
  const searchFirstMs = await timed(search);
  const searchAgainMs = await timed(search);
  const oneConnectionMb = await settledMb(place);

  const pages: number[] = [];
  await Promise.all(
    callers.map(async (call, account) => {
      for (let count = account === 0 ? 2 : 0; count < CONNECTIONS_EACH; count += 1) {
        const id = await connect(call);
        const tookMs = await timed(() => list(call, id, 1));
        if (count % 100 === 0) pages.push(tookMs);
      }
    }),
  );
  const manyConnectionsMb = await settledMb(place);
  const wideSearchMs = await timed(search);
  return {
    ...{ tools, importMs, againMs, searchFirstMs, searchAgainMs, oneConnectionMb },
    ...{ connections: ACCOUNTS * CONNECTIONS_EACH, manyConnectionsMb },
    ...{ pageP50Ms: percentile(pages, 0.5), pageP99Ms: percentile(pages, 0.99), wideSearchMs },
  };
}

type Caller = ReturnType<typeof createCaller>;

function countOf(answer: Record<string, unknown>): number {
  const { data } = answer;
  return typeof data === "object" && data !== null && "total_count" in data ? Number(data.total_count) : 0;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function settledMb({ service }: Place): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return (await readUsage(service.pid)).rssMb;
}
