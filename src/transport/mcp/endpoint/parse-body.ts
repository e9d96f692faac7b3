import { isUtf8 } from "node:buffer";
import { type JsonValue, parseJson } from "../../../json.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES } from "../../http/read-body.ts";
import { CODES, RpcFault } from "../rpc-fault.ts";

/** The largest body of a POST, in bytes (DESIGN §8). */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Parses the body of a POST. Throws RpcFault if it is not JSON within the limits. */
export function parseBody(bytes: Buffer): JsonValue {
  if (bytes.byteLength === 0 || !isUtf8(bytes)) {
    throw new RpcFault(CODES.parse, "The request body must be JSON.", { httpStatus: 400 });
  }
  try {
    return parseJson(bytes.toString("utf8"), { maxDepth: MAX_JSON_DEPTH, maxValues: MAX_JSON_VALUES });
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const sentence = cause.cause === undefined ? cause.message : "The request body is not valid JSON.";
    throw new RpcFault(CODES.parse, sentence, { httpStatus: 400 });
  }
}
