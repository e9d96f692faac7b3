/** All scopes (SPEC «Scopes», DESIGN §6 «scopes»). */
export const SCOPES = ["mgmt.read", "mgmt.write", "mgmt.admin", "mcp.read", "mcp.write"] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(word: string): word is Scope {
  return (SCOPES as readonly string[]).includes(word);
}

/**
 * Whether the granted scopes include one of the required ones. `mgmt.admin` implies every scope; no other scope
 * implies another.
 */
export function satisfies(granted: ReadonlySet<string>, required: readonly string[]): boolean {
  return granted.has("mgmt.admin") || required.some((scope) => granted.has(scope));
}
