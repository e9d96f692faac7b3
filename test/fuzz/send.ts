import { type Agent, type IncomingHttpHeaders, request as sendRequest } from "node:http";
import type { FuzzRequest } from "./requests.ts";

/** The response; for a stream its beginning. */
export interface FuzzAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Whether the response was abandoned before its end. */
  readonly isStream: boolean;
}

/** Sends requests unchanged. Throws if there is no response within 45 seconds. */
export function createSend(url: string, agent: Agent): (request: FuzzRequest) => Promise<FuzzAnswer> {
  const { hostname, port } = new URL(url);
  return ({ method, target, headers, body }) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "content-length": String(body.length) };
      const outgoing = sendRequest({ hostname, port, agent, method, path: target, headers: { ...headers, ...length } });
      const bound = setTimeout(() => outgoing.destroy(new Error("no response within 45 s")), 45_000);
      outgoing.once("error", (error) => {
        clearTimeout(bound);
        reject(error);
      });
      outgoing.once("response", (answer) => {
        const chunks: Buffer[] = [];
        const type = answer.headers["content-type"] ?? "";
        const isStream = type.startsWith("text/event-stream") || type.includes("connect+");
        const end = (): void => {
          clearTimeout(bound);
          const text = Buffer.concat(chunks).toString();
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, isStream });
        };
        // A stream has no end, so its beginning is enough.
        if (isStream) {
          end();
          answer.on("error", () => undefined).destroy();
          return;
        }
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.once("end", end);
        answer.once("error", reject);
      });
      outgoing.end(body);
    });
}
