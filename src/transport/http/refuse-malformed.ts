import type { ErrorReason } from "../../error-reason.ts";
import { errorBody } from "./answer.ts";

/** Error text for headers over the limit. */
export const HEADERS_TOO_LARGE = "The request headers are too large.";

const REFUSALS: Readonly<Record<string, readonly [status: string, code: ErrorReason, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "HEADERS_TOO_LARGE", HEADERS_TOO_LARGE],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "DEADLINE_EXCEEDED", "The request took too long to arrive."],
};

/** Responds to malformed HTTP with a JSON error and closes the connection. */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: NodeJS.WritableStream & { destroy(): void },
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code, detail] = REFUSALS[error.code ?? ""] ?? [
    "400 Bad Request",
    "MALFORMED_REQUEST",
    "The request is not valid HTTP.",
  ];
  const body = errorBody(code, detail);
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${String(body.length)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
