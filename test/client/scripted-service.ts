import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that the service received. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The response; `"cut"` closes the connection without a response. */
export type Step =
  { readonly status: number; readonly headers?: Record<string, string>; readonly body?: object } | "cut";

/** A scripted service with faults, and its token endpoint. */
export interface ScriptedService {
  readonly url: string;
  /** All requests except token requests, oldest first. */
  readonly asked: readonly Asked[];
  readonly tokenRequests: readonly Asked[];
  close(): Promise<void>;
}

/**
 * Responds with the steps in order and repeats the last one, or with the result of a function. By default the token
 * endpoint issues `token-1`, `token-2` and so on.
 */
export async function startScriptedService(
  steps: readonly Step[] | ((asked: Asked) => Step),
  answerToken: (count: number) => Step = (count) => ({
    status: 200,
    body: { access_token: `token-${count}`, token_type: "Bearer", expires_in: 3600, scope: "mgmt.read" },
  }),
): Promise<ScriptedService> {
  const asked: Asked[] = [];
  const tokenRequests: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const isToken = url === "/oauth2/token";
      const seen = isToken ? tokenRequests : asked;
      const body = Buffer.concat(chunks).toString();
      const current = { method, path: url, authorization: headers.authorization ?? "", headers, body };
      seen.push(current);
      const next = (): Step =>
        steps instanceof Function ? steps(current) : (steps[Math.min(seen.length, steps.length) - 1] ?? "cut");
      const step = isToken ? answerToken(seen.length) : next();
      if (step === "cut") return void request.socket.destroy();
      response.writeHead(step.status, { "content-type": "application/json", ...step.headers });
      response.end(JSON.stringify(step.body ?? {}));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    tokenRequests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
