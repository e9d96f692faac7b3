import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { retryAfterMs } from "../../retry-after.ts";
import { METHOD_NOT_FOUND } from "../../rpc-error.ts";
import type { Scrubber } from "../../scrub.ts";
import { quote, type Endpoint } from "../http/endpoint.ts";
import type { McpAnswer } from "../http/mcp-exchange.ts";
import { errorCodeOf } from "./json-rpc.ts";
import type { UpstreamSession } from "./session.ts";
import { UpstreamFailure, type RpcAnswer } from "../failures/upstream-failure.ts";

/** 2026-07-28: header mismatch and unsupported version. */
const REVISION_CODES: readonly (number | undefined)[] = [-32020, -32022];

/** Matches the messages of servers that do not know a session. */
const SESSION_GONE =
  /\bsession\b.{0,60}\b(?:not found|expired|terminated|closed|invalid|unknown)|\b(?:no|invalid|unknown|expired)\b.{0,10}\bsession|not initialized/i;

/** Converts an HTTP answer without the expected result to a failure. `error` is its JSON-RPC error, if any. */
export function answerFailure(
  answer: McpAnswer,
  error: JsonObject | undefined,
  session: UpstreamSession,
): UpstreamFailure {
  const { status } = answer;
  const { endpoint } = session;
  const code = errorCodeOf(error);
  const server = `The MCP server at ${endpoint.label}`;
  const detail = errorText(error, endpoint);
  const failure = (kind: UpstreamFailure["kind"], message: string): UpstreamFailure =>
    new UpstreamFailure(kind, message, {
      ...(code !== undefined && { code }),
      supportedVersions: supportedVersions(error),
      retryAfterMs: requestedWaitMs(answer),
    });

  if (status === 401 || status === 403) {
    if (endpoint.bearer !== undefined) {
      const advice = "Its owner can authorize the connection again";
      return failure("unauthorized", `${server} refused the authorization (HTTP ${status})${detail}. ${advice}.`);
    }
    const advice = endpoint.hasToken
      ? `refused the API key (HTTP ${status})${detail}. Replace it: update the connection with a new api_key.`
      : `asks for credentials (HTTP ${status})${detail}. Update the connection with an api_key.`;
    return failure("unauthorized", `${server} ${advice}`);
  }
  if (isSessionLost(answer, error, session)) {
    const what = session.revision === "modern" ? "no longer takes protocol revision 2026-07-28" : "ended the session";
    return failure("session_lost", `${server} ${what} (HTTP ${status})${detail}.`);
  }
  // Servers of 2026-07-28 send some errors with a 4xx status.
  if (error !== undefined && (status < 300 || (code !== undefined && status < 500 && status !== 429))) {
    const sentence = `${server} answered with an error${code === undefined ? "" : ` (${code})`}${detail}.`;
    // An error of the handshake is not the answer to a client's request.
    const isHandshake = session.protocolVersion === "";
    const said = code === undefined || isHandshake ? undefined : readAnswer(error, code, endpoint);
    return new UpstreamFailure("rpc", sentence, code === undefined ? {} : { code, answer: said });
  }
  return failure(kindOf(status), `${server} ${statusSentence(answer, detail, endpoint)}`);
}

function supportedVersions(error: JsonObject | undefined): readonly string[] {
  const supported = isJsonObject(error?.data) ? error.data.supported : undefined;
  return Array.isArray(supported) ? supported.filter((version) => typeof version === "string") : [];
}

function kindOf(status: number): UpstreamFailure["kind"] {
  if (status < 300) return "not_mcp";
  if (status === 429) return "busy";
  return status < 500 ? "declined" : "http";
}

function readAnswer({ message, data }: JsonObject, code: number, { scrubber }: Endpoint): RpcAnswer {
  const text = typeof message === "string" ? scrubber.text(message) : "";
  return { code, message: text, data: data === undefined ? undefined : scrubbed(data, scrubber) };
}

function scrubbed(value: JsonValue, scrubber: Scrubber): JsonValue {
  if (typeof value === "string") return scrubber.text(value);
  if (Array.isArray(value)) return value.map((item) => scrubbed(item, scrubber));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, scrubbed(item, scrubber)]));
}

function requestedWaitMs({ status, retryAfter }: McpAnswer): number | undefined {
  return status === 429 ? retryAfterMs(retryAfter) : undefined;
}

function statusSentence(answer: McpAnswer, detail: string, endpoint: Endpoint): string {
  const { status, location, contentType } = answer;
  if (status < 300) {
    const what = contentType === "" ? "without content" : `with ${quote(contentType, endpoint)}`;
    return `does not speak MCP: it answered HTTP ${status} ${what}. Check url.`;
  }
  if (status < 400) {
    const to = location === undefined ? "" : ` (to ${quote(location.split(/[?#]/)[0] ?? "", endpoint)})`;
    return `redirects elsewhere${to}, and redirects are not followed. Set url to the final address.`;
  }
  if (status >= 500) return `failed (HTTP ${status})${detail}. Try again later, or check the server.`;
  if (status === 429) {
    const waitMs = requestedWaitMs(answer);
    const when = waitMs === undefined ? "later" : `in ${Math.ceil(waitMs / 1_000)} seconds`;
    return `is called too often (HTTP 429)${detail}. Try again ${when}.`;
  }
  if (status === 404 || status === 405 || status === 410) {
    return `has no MCP endpoint at this address (HTTP ${status})${detail}. Check url.`;
  }
  return `refused the request (HTTP ${status})${detail}.`;
}

/**
 * By the specification, a lost session is reported with 404; by common practice, also with 400 or an error that names
 * the session. The request was not executed.
 */
function isSessionLost(answer: McpAnswer, error: JsonObject | undefined, session: UpstreamSession): boolean {
  const code = errorCodeOf(error);
  if (session.revision === "modern")
    return code !== METHOD_NOT_FOUND && (answer.status === 404 || REVISION_CODES.includes(code));
  if (session.id === undefined && session.channel === undefined) return false;
  if (answer.status === 404) return true;
  const message = error?.message;
  const text = typeof message === "string" ? message : answer.body.toString("utf8", 0, 2_000);
  const namesSession = SESSION_GONE.test(text);
  return namesSession && (answer.status === 400 || (answer.status < 300 && code === -32001));
}

function errorText(error: JsonObject | undefined, endpoint: Endpoint): string {
  const message = error?.message;
  const text = typeof message === "string" ? quote(message, endpoint).replace(/(?<![.\s])[.\s]+$/, "") : "";
  return text === "" ? "" : `: ${text}`;
}
