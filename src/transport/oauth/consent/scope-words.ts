import type { Scope } from "../../../identity/scopes.ts";

/** What each scope means to the person who is asked for it. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  "mcp.read": "Use the tools of your connections that only read",
  "mcp.write": "Use all tools of your connections, also those that change something",
  "mgmt.read": "See your connections, their settings and their history",
  "mgmt.write": "Create, change and delete your connections",
  "mgmt.admin": "Administer this whole installation, with all its accounts",
};
