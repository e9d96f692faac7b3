import type { Scope } from "../../../identity/scopes.ts";

/** Descriptions of the scopes on the consent page. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  "mcp.read": "Use read-only tools of your connections",
  "mcp.write": "Use all tools of your connections, including those that change data",
  "mgmt.read": "See your connections, their settings and their history",
  "mgmt.write": "Create, change and delete your connections",
  "mgmt.admin": "Administer this installation and all its accounts",
};
