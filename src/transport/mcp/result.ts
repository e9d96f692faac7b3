import { isJsonObject, type JsonObject } from "../../json.ts";

/** How long a client may keep a list, in milliseconds; whoever listens for changes hears of them before. */
const LIST_TTL_MS = 30_000;

/** What a method gave, before the protocol revision of the client decides what goes around it. */
export interface RpcResult {
  /** The members of the result as JSON, without braces. Empty when there are none. */
  readonly members: string;
  readonly meta: JsonObject | undefined;
  /** Whether clients may keep it for a while. */
  readonly isCacheable: boolean;
}

/** A result from its parts. */
export function toResult(members: JsonObject, options: { readonly isCacheable?: boolean } = {}): RpcResult {
  const { _meta: meta, ...rest } = members;
  return {
    members: JSON.stringify(rest).slice(1, -1),
    meta: isJsonObject(meta) ? meta : undefined,
    isCacheable: options.isCacheable ?? false,
  };
}

/** The result as clients with sessions read it. */
export function legacyResult({ members, meta }: RpcResult): string {
  if (meta === undefined) return `{${members}}`;
  return `{${members}${members === "" ? "" : ","}"_meta":${JSON.stringify(meta)}}`;
}

/** Prints results as 2026-07-28 has them: what kind it is, how long it keeps, and who answers. */
export function createModernResult(serverInfo: JsonObject): (result: RpcResult) => string {
  const own = { "io.modelcontextprotocol/serverInfo": serverInfo };
  const ownText = `"_meta":${JSON.stringify(own)}}`;
  return ({ members, meta, isCacheable }) => {
    const hints = isCacheable ? `"ttlMs":${LIST_TTL_MS},"cacheScope":"private",` : "";
    const end = meta === undefined ? ownText : `"_meta":${JSON.stringify({ ...meta, ...own })}}`;
    return `{"resultType":"complete",${members}${members === "" ? "" : ","}${hints}${end}`;
  };
}
