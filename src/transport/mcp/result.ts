import { isJsonObject, type JsonObject } from "../../json.ts";

/** Time to live of lists at the client, in milliseconds. Listeners are notified of changes earlier. */
const LIST_TTL_MS = 30_000;

/** A result before the fields of a protocol revision are added. */
export interface RpcResult {
  /** The members of the result as JSON, without braces; possibly empty. */
  readonly members: string;
  readonly meta: JsonObject | undefined;
  /** Whether clients may cache it. */
  readonly isCacheable: boolean;
}

export function toResult(members: JsonObject, options: { readonly isCacheable?: boolean } = {}): RpcResult {
  const { _meta: meta, ...rest } = members;
  return {
    members: JSON.stringify(rest).slice(1, -1),
    meta: isJsonObject(meta) ? meta : undefined,
    isCacheable: options.isCacheable ?? false,
  };
}

/** The result for the revisions with sessions. */
export function legacyResult({ members, meta }: RpcResult): string {
  if (meta === undefined) return `{${members}}`;
  return `{${members}${members === "" ? "" : ","}"_meta":${JSON.stringify(meta)}}`;
}

/** Adds the fields that 2026-07-28 requires: result type, time to live and server info. */
export function createModernResult(serverInfo: JsonObject): (result: RpcResult) => string {
  const own = { "io.modelcontextprotocol/serverInfo": serverInfo };
  const ownText = `"_meta":${JSON.stringify(own)}}`;
  return ({ members, meta, isCacheable }) => {
    const hints = isCacheable ? `"ttlMs":${LIST_TTL_MS},"cacheScope":"private",` : "";
    const end = meta === undefined ? ownText : `"_meta":${JSON.stringify({ ...meta, ...own })}}`;
    return `{"resultType":"complete",${members}${members === "" ? "" : ","}${hints}${end}`;
  };
}
