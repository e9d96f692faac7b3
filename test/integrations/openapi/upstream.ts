import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ExchangeLimits } from "../../../src/integrations/upstream-exchange.ts";
import type { JsonObject } from "../../../src/json.ts";
import { contractText, createSubject, KEY, type Subject } from "./subject.ts";

const ok = { responses: { "200": { description: "ok", content: { "application/json": { schema: {} } } } } };

/** A contract with a read (`list`) and a write (`create`). */
export const CONTRACT = contractText({
  "/things": {
    get: { operationId: "list", parameters: [{ name: "limit", in: "query", schema: { type: "integer" } }], ...ok },
    post: { operationId: "create", requestBody: { content: { "application/json": { schema: {} } } }, ...ok },
  },
});

export const LIMITS: ExchangeLimits = { maxBytes: 100_000, timeoutMs: 20_000 };

/** For upstreams that never finish a response. */
export const IMPATIENT: ExchangeLimits = { ...LIMITS, timeoutMs: 300 };

/** Handles a request; `count` is the number of requests so far, starting at 1. */
export type Behavior = (response: ServerResponse, request: IncomingMessage, count: number) => void;

/** Scripted upstreams, and the integration that calls them. */
export interface Upstreams {
  readonly start: (
    behave: Behavior,
    limits?: ExchangeLimits,
    contract?: string,
    configuration?: JsonObject,
  ) => Promise<Subject>;
  readonly stop: () => Promise<void>;
}

/** Starts one upstream at a time; `stop` closes its server and connections. */
export function createUpstreams(): Upstreams {
  let server: Server | undefined;
  let subject: Subject | undefined;
  return {
    async start(behave, limits = LIMITS, contract = CONTRACT, configuration = { api_token: KEY }) {
      let count = 0;
      const started = createServer((request, response) => {
        count += 1;
        response.on("error", () => undefined);
        behave(response, request, count);
      });
      server = started;
      await new Promise<void>((resolve) => started.listen(0, "127.0.0.1", resolve));
      const { port } = started.address() as AddressInfo;
      subject = createSubject(contract, `http://127.0.0.1:${port}`, { limits, configuration });
      return subject;
    },
    async stop() {
      await subject?.close();
      server?.closeAllConnections();
      server?.close();
    },
  };
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}
