import { OutboundRefused } from "../../outbound-refused.ts";
import { AnswerRefused } from "./answer-refused.ts";
import { UpstreamFailure } from "./upstream-failure.ts";

/** Codes of failed connection attempts: nothing was sent. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ENOTFOUND: "its name does not exist",
  EAI_AGAIN: "its name could not be looked up",
  ECONNREFUSED: "it refuses connections",
  EHOSTUNREACH: "there is no route to it",
  ENETUNREACH: "there is no route to it",
  ETIMEDOUT: "it did not accept a connection in time",
  UND_ERR_CONNECT_TIMEOUT: "it did not accept a connection in time",
  UND_ERR_MAX_ORIGINS_REACHED: "too many other servers are being called; try again later",
};

/**
 * Converts an error of an HTTP exchange to a failure with a public message. An UpstreamFailure is returned unchanged.
 */
export function transportFailure(error: unknown, endpoint: { readonly label: string }): UpstreamFailure {
  const server = `The MCP server at ${endpoint.label}`;
  if (error instanceof UpstreamFailure) return error;
  if (error instanceof OutboundRefused) return new UpstreamFailure("refused", error.message, { cause: error });
  if (error instanceof AnswerRefused) {
    if (error.kind === "timeout") {
      return new UpstreamFailure("timeout", `${server} did not answer in time. Try again, or check the server.`, {
        cause: error,
      });
    }
    const what =
      error.kind === "too_large"
        ? "with more than 5 MiB; ask it for less"
        : "in compressed form, which was not asked for";
    return new UpstreamFailure("too_large", `${server} answered ${what}.`, { cause: error });
  }
  const code = errorCode(error);
  const unreachable = UNREACHABLE[code];
  if (unreachable !== undefined) {
    const advice = code.startsWith("UND_ERR_MAX") ? "" : " Check url and that the server is running.";
    return new UpstreamFailure("unreachable", `${server} cannot be reached: ${unreachable}.${advice}`, {
      cause: error,
    });
  }
  if (/CERT|TLS|SSL|SELF_SIGNED|SIGNATURE/.test(code)) {
    return new UpstreamFailure(
      "unreachable",
      `${server} cannot be reached: its TLS certificate or handshake was not accepted (${code}).`,
      {
        cause: error,
      },
    );
  }
  if (code === "UND_ERR_HEADERS_TIMEOUT" || code === "UND_ERR_BODY_TIMEOUT") {
    return new UpstreamFailure("timeout", `${server} did not answer in time. Try again, or check the server.`, {
      cause: error,
    });
  }
  return new UpstreamFailure("broken", `${server} broke the connection before its answer was complete.`, {
    cause: error,
  });
}

/** For an AggregateError, the code of the first attempt. */
function errorCode(error: unknown): string {
  if (error instanceof AggregateError && !("code" in error)) return errorCode(error.errors[0]);
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return "";
}
