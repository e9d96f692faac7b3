import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { CallContext } from "../call-context.ts";
import type { Output, ServedRpc } from "../calls.ts";
import { COMPRESS_MIN_BYTES, mayCompress } from "../../http/compression.ts";
import { acceptedCodings } from "../../http/accept-encoding.ts";
import { contentTag, isKnown, versionTag } from "../../http/entity-tag.ts";
import { addVary, type HttpExchange, type HeaderFields } from "../../http/exchange.ts";
import { JSON_HEADERS } from "../../http/answer.ts";
import { createMessageWriter } from "./write-message.ts";

/** Answers with what an implementation returned. Undefined when that is done, a promise where it takes a while. */
export type AnswerWriter = (exchange: HttpExchange, context: CallContext, output: Output) => Promise<void> | undefined;

const pack = promisify(gzip);

/**
 * Makes the writer of an RPC's answers: JSON, on a read with its `ETag`, or 304 for who has it already; packed where the
 * caller takes gzip and it is worth the time.
 */
export function createAnswerWriter(rpc: ServedRpc): AnswerWriter {
  const write = createMessageWriter(rpc.method.output);
  const isPackable = mayCompress(rpc.method.output);

  return (exchange, context, output) => {
    const { method, headers } = exchange;
    const isRead = method === "GET" || method === "HEAD";
    const own = context.responseHeaderIfSet;
    let fields: HeaderFields = own === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...Object.fromEntries(own) };
    if (!isRead) return send(exchange, rpc.successStatus, fields, JSON.stringify(write(output)), isPackable);

    const version = context.version === undefined ? undefined : versionTag(context.version);
    const known = headers["if-none-match"];
    const body = version !== undefined && isKnown(known, version) ? undefined : JSON.stringify(write(output));
    const etag = version ?? contentTag(body ?? "");
    fields = { ...fields, etag };
    if (body === undefined || isKnown(known, etag)) {
      const { "content-type": _, ...rest } = fields;
      exchange.respond(304, rest, "");
      return undefined;
    }
    // A strong tag stands for these bytes alone.
    return send(exchange, rpc.successStatus, fields, body, isPackable && version === undefined);
  };
}

function send(
  exchange: HttpExchange,
  status: number,
  fields: HeaderFields,
  body: string,
  isPackable: boolean,
): Promise<void> | undefined {
  const header = exchange.headers["accept-encoding"];
  const isLarge = body.length >= COMPRESS_MIN_BYTES;
  // Only who refuses it unpacked gets a small answer packed.
  if (isPackable && (isLarge || header?.includes("q=0") === true)) {
    addVary(exchange, "Accept-Encoding");
    const accepted = acceptedCodings(header);
    if (accepted.gzip && (isLarge || !accepted.identity)) return sendPacked(exchange, status, fields, body);
  }
  exchange.respond(status, fields, body);
  return undefined;
}

async function sendPacked(exchange: HttpExchange, status: number, fields: HeaderFields, body: string): Promise<void> {
  // In the thread pool: a megabyte would keep everybody else waiting for ten milliseconds.
  const packed = await pack(body);
  exchange.respond(status, { ...fields, "content-encoding": "gzip" }, packed);
}
