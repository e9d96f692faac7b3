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

/** Sends the result of an implementation. Returns a promise only if it takes time. */
export type AnswerWriter = (exchange: HttpExchange, context: CallContext, output: Output) => Promise<void> | undefined;

const compress = promisify(gzip);

/**
 * Creates the writer of an RPC's responses: JSON, with an `ETag` on reads or 304 if the caller already has it; gzip if
 * the caller accepts it and the size justifies it.
 */
export function createAnswerWriter(rpc: ServedRpc): AnswerWriter {
  const write = createMessageWriter(rpc.method.output);
  const isCompressible = mayCompress(rpc.method.output);

  return (exchange, context, output) => {
    const { method, headers } = exchange;
    const isRead = method === "GET" || method === "HEAD";
    const own = context.responseHeaderIfSet;
    let fields: HeaderFields = own === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...Object.fromEntries(own) };
    if (!isRead) return send(exchange, rpc.successStatus, fields, JSON.stringify(write(output)), isCompressible);

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
    // A strong tag identifies exact bytes.
    return send(exchange, rpc.successStatus, fields, body, isCompressible && version === undefined);
  };
}

function send(
  exchange: HttpExchange,
  status: number,
  fields: HeaderFields,
  body: string,
  isCompressible: boolean,
): Promise<void> | undefined {
  const header = exchange.headers["accept-encoding"];
  const isLarge = body.length >= COMPRESS_MIN_BYTES;
  // A small response is compressed only if the caller rejects uncompressed ones.
  if (isCompressible && (isLarge || header?.includes("q=0") === true)) {
    addVary(exchange, "Accept-Encoding");
    const accepted = acceptedCodings(header);
    if (accepted.gzip && (isLarge || !accepted.identity)) return sendCompressed(exchange, status, fields, body);
  }
  exchange.respond(status, fields, body);
  return undefined;
}

async function sendCompressed(
  exchange: HttpExchange,
  status: number,
  fields: HeaderFields,
  body: string,
): Promise<void> {
  // In the thread pool, because compressing a megabyte would block all other requests for ten milliseconds.
  const compressed = await compress(body);
  exchange.respond(status, { ...fields, "content-encoding": "gzip" }, compressed);
}
