/** The endpoints of MCP, each with an address for one connection. */
const MCP_PATH = /^\/(?:mcp|sse)(?:\/([1-9][0-9]{0,9}))?$/;

/** The audience of a token: the whole service, the runtime, or one connection (DESIGN §6 «audience»). */
export interface Resource {
  /** The `aud`. */
  readonly audience: string;
  /** Set for the address of a connection. */
  readonly connectionId: number | undefined;
}

/** Parses an RFC 8707 resource. Returns undefined for a foreign one. A slash after the origin is ignored. */
export function parseResource(issuer: string, resource: string): Resource | undefined {
  if (resource === issuer || resource === `${issuer}/`) return { audience: issuer, connectionId: undefined };
  const path = resource.startsWith(issuer) ? resource.slice(issuer.length) : "";
  const match = MCP_PATH.exec(path);
  if (match === null) return undefined;
  return { audience: resource, connectionId: match[1] === undefined ? undefined : Number(match[1]) };
}

/** The error text for an invalid resource. */
export function resourceRule(issuer: string): string {
  return `The resource must be ${issuer}, ${issuer}/mcp or ${issuer}/mcp/<server id>; the same with /sse.`;
}
