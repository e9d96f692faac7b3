import { isJsonObject, type JsonObject } from "../../src/json.ts";
import { startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { MATRIX_STORY } from "./matrix-tools.ts";
import { REST_DOCUMENT, startRestUpstream } from "./rest-upstream.ts";
import { startSdkV1Upstream } from "./sdk-v1-upstream.ts";
import { startSdkV2Upstream } from "./sdk-v2-upstream.ts";
import type { Lack, Step, Story } from "./story.ts";
import { startWitness, type Witness } from "./witness.ts";

/** An upstream of the matrix. */
export interface MatrixUpstream {
  readonly story: Story;
  /** The steps that it does not allow. */
  readonly lacks: Partial<Record<Step, Lack>>;
  /** The body of the request that creates its connection. */
  readonly connection: JsonObject;
  readonly witness: Witness;
  close(): Promise<void>;
}

/** Starts all upstreams of the matrix. */
export function startUpstreams(): Promise<readonly MatrixUpstream[]> {
  return Promise.all([
    startMcp("SDK v1", startSdkV1Upstream()),
    startMcp("SDK v2, 2026-07-28", startSdkV2Upstream()),
    startEverything(),
    startRest(),
  ]);
}

async function startMcp(upstream: string, starting: ReturnType<typeof startSdkV1Upstream>): Promise<MatrixUpstream> {
  const server = await starting;
  const witness = await startWitness(server.host, (_path, message) => paramsOf(message)["name"] === "wait");
  return {
    story: { ...MATRIX_STORY, upstream },
    lacks: {},
    connection: connectionTo(witness, upstream),
    witness,
    close: () => closeBoth(witness, server),
  };
}

const LONG_OPERATION = "trigger-long-running-operation";
const LONG_SECONDS = 600;

async function startEverything(): Promise<MatrixUpstream> {
  const server = await startEverythingServer();
  const witness = await startWitness(new URL(server.url).host, (_path, message) => {
    const { arguments: args } = paramsOf(message);
    return isJsonObject(args) && args["duration"] === LONG_SECONDS;
  });
  const upstream = "server-everything";
  return {
    story: {
      upstream,
      call: { tool: "echo", arguments: { message: "hello ✓" }, text: "Echo: hello ✓" },
      progress: {
        tool: LONG_OPERATION,
        arguments: { duration: 0.6, steps: 3 },
        text: "Long running operation completed",
      },
      cancel: { tool: LONG_OPERATION, arguments: { duration: LONG_SECONDS, steps: LONG_SECONDS } },
    },
    lacks: {
      input: {
        word: "hidden",
        evidence:
          "It lists the tool only for sessions of clients that can answer; a connection has one list for all clients.",
      },
    },
    connection: connectionTo(witness, upstream),
    witness,
    close: () => closeBoth(witness, { close: () => server.stop() }),
  };
}

async function startRest(): Promise<MatrixUpstream> {
  const server = await startRestUpstream();
  const witness = await startWitness(server.host, (path) => path === "/wait");
  const evidence = "An HTTP API answers a request once.";
  return {
    story: {
      upstream: "REST",
      call: { tool: "echo", arguments: { text: "hello ✓" }, text: "hello ✓" },
      cancel: { tool: "wait", arguments: {} },
    },
    lacks: { progress: { word: "none", evidence }, input: { word: "none", evidence } },
    connection: {
      server_type: "openapi",
      name: "REST",
      configuration: { spec: REST_DOCUMENT, base_url: `http://${witness.host}` },
    },
    witness,
    close: () => closeBoth(witness, server),
  };
}

function connectionTo({ host }: Witness, name: string): JsonObject {
  return { server_type: "mcp", name, configuration: { url: `http://${host}/mcp` } };
}

async function closeBoth(...servers: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const server of servers) await server.close();
}

function paramsOf({ method, params }: JsonObject): JsonObject {
  return method === "tools/call" && isJsonObject(params) ? params : {};
}
