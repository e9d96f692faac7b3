import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import type { Choose } from "./story.ts";

const MALFORMED = "The request body is not valid JSON.";

export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

export interface FrontOptions {
  /** The port to listen on; 0 for any port. */
  readonly port: number;
  /** The port of Prism on this machine. */
  readonly prismPort: number;
  /** Selects the example for requests without `Prefer`. */
  readonly choose: Choose;
}

/**
 * A proxy in front of Prism, which always returns an operation's first example. Adds the `Prefer` header of the
 * matching example to each request. Requests with their own `Prefer` pass unchanged.
 */
export async function startFront({ port, prismPort, choose }: FrontOptions): Promise<Front> {
  const server = createServer((incoming, outgoing) => {
    void pass(incoming, outgoing, prismPort, choose).catch((failure: unknown) => {
      answer(outgoing, 502, { detail: String(failure), code: "UNAVAILABLE" });
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the mock has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function pass(from: IncomingMessage, to: ServerResponse, prismPort: number, choose: Choose): Promise<void> {
  let body = await buffer(from);
  const { method = "GET", url: target = "/" } = from;
  const read = readBody(from, body);
  if (read === "malformed") {
    // Prism never responds to a body that is not JSON.
    if (from.headers.authorization !== undefined) {
      answer(to, 400, { detail: MALFORMED, code: "MALFORMED_REQUEST" });
      return;
    }
    body = Buffer.from("{}");
  }
  const prefer = from.headers.prefer ?? choose({ method, target, body: read === "malformed" ? undefined : read });
  const headers = { ...from.headers, "content-length": body.length, ...(prefer !== undefined && { prefer }) };
  const asked = request({ host: "127.0.0.1", port: prismPort, method, path: target, headers });
  asked.end(body);
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const text = await buffer(response);
  const { "transfer-encoding": _, ...rest } = response.headers;
  const ours = inOurWords(response, text.toString());
  if (ours !== undefined) answer(to, response.statusCode ?? 500, ours);
  else to.writeHead(response.statusCode ?? 500, { ...rest, "content-length": text.length }).end(text);
}

/** The body as an object; undefined if it is none, a string if it claims to be JSON and is not. */
function readBody(from: IncomingMessage, body: Buffer): JsonObject | "malformed" | undefined {
  if (body.length === 0 || from.headers["content-type"]?.startsWith("application/json") !== true) return undefined;
  try {
    const value = JSON.parse(body.toString()) as JsonValue;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return "malformed";
  }
}

/** Replaces Prism's error texts, and the example's text for an unknown field, by the service's text. */
function inOurWords(response: IncomingMessage, text: string): JsonObject | undefined {
  const unknown = /must NOT have additional properties; found '([^']*)'/.exec(
    String(response.headers["sl-violations"]),
  );
  if (response.statusCode === 400 && unknown !== null) {
    const field = unknown[1] ?? "";
    return { detail: `${field} is not a known field.`, code: "INVALID_ARGUMENT", field };
  }
  if (response.headers["content-type"]?.includes("problem+json") !== true) return undefined;
  if (response.statusCode === 404) return { detail: "Not found.", code: "ROUTE_NOT_FOUND" };
  if (response.statusCode === 405) return { detail: "Method not allowed.", code: "METHOD_NOT_ALLOWED" };
  const { title, detail } = JSON.parse(text) as { title?: string; detail?: string };
  const code =
    response.statusCode === 415
      ? "UNSUPPORTED_MEDIA_TYPE"
      : (response.statusCode ?? 500) < 500
        ? "INVALID_ARGUMENT"
        : "INTERNAL";
  return { detail: `${title ?? "The mock cannot answer"}. ${detail ?? ""}`.trim(), code };
}

function answer(to: ServerResponse, status: number, body: JsonObject): void {
  to.writeHead(status, { "content-type": "application/json", "access-control-allow-origin": "*" });
  to.end(JSON.stringify(body));
}
