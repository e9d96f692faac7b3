const CONNECTION_PATH = /^\/mcp\/([1-9][0-9]{0,9})$/;

/** What a token may be for: everything here, the runtime, or one connection in it (DESIGN §6 «audience»). */
export interface Resource {
  /** The `aud`. */
  readonly audience: string;
  /** The connection, for the address of one. */
  readonly connectionId: number | undefined;
}

/** Parses an RFC 8707 resource; undefined for one that is not ours. A slash after the origin does not count. */
export function parseResource(issuer: string, resource: string): Resource | undefined {
  if (resource === issuer || resource === `${issuer}/`) return { audience: issuer, connectionId: undefined };
  const path = resource.startsWith(issuer) ? resource.slice(issuer.length) : "";
  if (path === "/mcp") return { audience: resource, connectionId: undefined };
  const id = CONNECTION_PATH.exec(path)?.[1];
  return id === undefined ? undefined : { audience: resource, connectionId: Number(id) };
}

/** What the resource may be, for who asked for another. */
export function resourceRule(issuer: string): string {
  return `The resource is ${issuer}, ${issuer}/mcp or ${issuer}/mcp/<server id>.`;
}
