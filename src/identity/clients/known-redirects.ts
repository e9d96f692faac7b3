/** Sites that pass an authorization response on to a program on the user's machine. */
const FORWARDING_SITES: readonly string[] = ["https://vscode.dev/redirect", "https://insiders.vscode.dev/redirect"];

/**
 * Redirect URIs that the makers of MCP hosts publish. A host registers all of its URIs in one request, so the websites of
 * Cursor and VS Code are part of the list; without them their programs could not register either.
 *
 * Sources: Claude's help center ("Building custom connectors"), OpenAI's Apps SDK ("Authentication"), Cursor's and VS
 * Code's documentation of MCP servers.
 */
const KNOWN_ADDRESSES: ReadonlySet<string> = new Set([
  "https://claude.ai/api/mcp/auth_callback",
  "https://claude.com/api/mcp/auth_callback",
  "https://chatgpt.com/connector_platform_oauth_redirect",
  "https://www.cursor.com/agents/mcp/oauth/callback",
  ...FORWARDING_SITES,
]);

/** ChatGPT gives each connector its own callback. */
const CHATGPT_CONNECTOR = /^https:\/\/chatgpt\.com\/connector\/oauth\/[A-Za-z0-9_-]{1,128}$/;

const KNOWN_SCHEMES: ReadonlySet<string> = new Set(["cursor:", "vscode:", "vscode-insiders:"]);

/** Whether a website's URI or an app's scheme is published by a known host. Compares the text as it was sent. */
export function isKnownRedirect(uri: string): boolean {
  return KNOWN_ADDRESSES.has(uri) || CHATGPT_CONNECTOR.test(uri) || KNOWN_SCHEMES.has(new URL(uri).protocol);
}

/** Whether the site at this URI passes what it receives on to a program, so that its address does not prove who gets it. */
export function isForwardingSite(uri: string): boolean {
  return FORWARDING_SITES.includes(uri);
}
