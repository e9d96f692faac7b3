import { connect } from "node:net";
import type { RequestTemplate } from "./job.ts";

/** The status, and whether the body contains the expected text. */
export interface Answer {
  readonly status: number;
  readonly isExpected: boolean;
  readonly body: string;
}

/** One connection with one request at a time and minimal overhead. */
export interface Http1Connection {
  /** Sends the request. The response is undefined if the connection broke. */
  send(onAnswer: (answer: Answer | undefined) => void): void;
  close(): void;
}

const LENGTH = /\r\ncontent-length: (\d+)/i;

/** Connects. Every request is the same. Responses must have a Content-Length. */
export function openHttp1(url: string, request: RequestTemplate, expected: string): Http1Connection {
  const { hostname, port } = new URL(url);
  const bytes = toBytes(request, `${hostname}:${port}`);
  const needle = Buffer.from(expected);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let waiting: ((answer: Answer | undefined) => void) | undefined;
  let seen: Buffer = Buffer.alloc(0);

  const answer = (value: Answer | undefined): void => {
    const listener = waiting;
    waiting = undefined;
    seen = Buffer.alloc(0);
    listener?.(value);
  };
  socket.on("data", (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const headEnd = seen.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = seen.toString("latin1", 0, headEnd);
    const bodyEnd = headEnd + 4 + Number(LENGTH.exec(head)?.[1] ?? 0);
    if (seen.length < bodyEnd) return;
    const body = seen.subarray(headEnd + 4, bodyEnd);
    const isExpected = body.includes(needle);
    answer({ status: Number(head.slice(9, 12)), isExpected, body: isExpected ? "" : body.toString() });
  });
  socket.on("error", () => answer(undefined));
  socket.on("close", () => answer(undefined));

  return {
    send: (onAnswer) => {
      waiting = onAnswer;
      if (socket.destroyed) answer(undefined);
      else socket.write(bytes);
    },
    close: () => socket.destroy(),
  };
}

function toBytes({ method, path, headers, body }: RequestTemplate, host: string): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body ?? ""}`);
}
