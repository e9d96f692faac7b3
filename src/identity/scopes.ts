/** Every scope a client can be granted (SPEC «Scopes», DESIGN §6 «scopes»). */
export const SCOPES = ["mgmt.read", "mgmt.write", "mgmt.admin", "mcp.read", "mcp.write"] as const;

/** One scope. */
export type Scope = (typeof SCOPES)[number];

/** Whether a word is a scope we know. */
export function isScope(word: string): word is Scope {
  return (SCOPES as readonly string[]).includes(word);
}

/** Whether the granted scopes hold one of the required ones. `mgmt.admin` implies every scope; nothing else implies another. */
export function satisfies(granted: ReadonlySet<string>, required: readonly string[]): boolean {
  return granted.has("mgmt.admin") || required.some((scope) => granted.has(scope));
}
