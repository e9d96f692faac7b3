import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, expect, test } from "vitest";
import { ConnectionService } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { Verifier } from "../../../src/transport/gate/gate.ts";
import { until } from "../../support/until.ts";
import { type Running, startStandIn, verify } from "../support/stand-in.ts";

const LIST = "/api/v1/mcp-servers";
const RPC = "/patchbay.v1.ConnectionService/ListConnections";
const LIMITS = { maxInFlight: 4, maxWaiting: 4, maxWaitMs: 30 };
const FLOODING = { authorization: "Bearer mgmt.read,mcp.read" };
const QUIET = { authorization: "Bearer mgmt.read" };

/** Tokens of two different accounts. */
const verifier: Verifier = {
  verify: (authorization, audiences) => ({
    ...verify(authorization, audiences),
    accountId: authorization === FLOODING.authorization ? "flooding" : "quiet",
  }),
};

let running: Running;
afterEach(() => running.stop());

test.each([true, false])(
  "rejects only the account that floods the service, over every protocol (fast path %s)",
  async (fastPath) => {
    running = await startStandIn({ limits: { calls: LIMITS }, verifier, fastPath });
    const { url, seen } = running;
    const ended = new AbortController();
    const refused: number[] = [];
    // Requests that never complete occupy every slot of one account; further requests find the wait queue full.
    const flood = Array.from({ length: 100 }, async () => {
      const { status } = await fetch(`${url}${LIST}/600`, { headers: FLOODING, signal: ended.signal });
      if (status === 503) refused.push(status);
    });
    await until(() => Promise.resolve(seen.signals.length === 2 && refused.length === 98));
    const grpc = createClient(ConnectionService, createGrpcTransport({ baseUrl: url }));
    for (let round = 0; round < 20; round += 1) {
      flood.push(...Array.from({ length: 20 }, () => surplus()));
      expect((await fetch(url + LIST, { headers: QUIET })).status).toBe(200);
      const rpc = { method: "POST", headers: { ...QUIET, "content-type": "application/json" }, body: "{}" };
      expect((await fetch(url + RPC, rpc)).status).toBe(200);
      expect(await grpc.listConnections({}, { headers: QUIET })).toMatchObject({ success: true });
    }
    await until(() => Promise.resolve(refused.length === 498));
    expect(seen.signals).toHaveLength(2);
    ended.abort();
    await Promise.allSettled(flood);

    async function surplus(): Promise<void> {
      const { status } = await fetch(url + LIST, { headers: FLOODING, signal: ended.signal });
      if (status === 503) refused.push(status);
    }
  },
);
