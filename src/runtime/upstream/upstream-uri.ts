const QUALIFIED_APP = /^ui:\/\/patchbay\/([1-9][0-9]{0,9})\/(.+)$/s;
const QUALIFIED = /^patchbay:\/\/([1-9][0-9]{0,9})\/(.+)$/s;
const ENCODED = /^[A-Za-z][A-Za-z0-9+.-]*%3A/i;

const APP_SCHEME = "ui://";

/**
 * Returns `patchbay://<connection id>/<uri>`. RFC 3986 allows an unencoded URI in the path, so a template remains a
 * template and its variables are encoded once. Hosts of MCP Apps accept only `ui:`, so `ui://<rest>` becomes
 * `ui://patchbay/<connection id>/<rest>`.
 */
export function qualifyUri(uri: string, connectionId: number): string {
  if (uri.startsWith(APP_SCHEME) && uri.length > APP_SCHEME.length)
    return `${APP_SCHEME}patchbay/${connectionId}/${uri.slice(APP_SCHEME.length)}`;
  return `patchbay://${connectionId}/${uri}`;
}

/** Returns the parts of a qualified URI, or undefined for other URIs. Accepts a URI that the client encoded as one path segment. */
export function splitQualifiedUri(uri: string): { readonly uri: string; readonly connectionId: number } | undefined {
  const [, appConnectionId, app] = QUALIFIED_APP.exec(uri) ?? [];
  if (appConnectionId !== undefined && app !== undefined)
    return { uri: APP_SCHEME + app, connectionId: Number(appConnectionId) };
  const [, id, rest] = QUALIFIED.exec(uri) ?? [];
  if (id === undefined || rest === undefined) return undefined;
  return { uri: ENCODED.test(rest) ? decoded(rest) : rest, connectionId: Number(id) };
}

/**
 * Whether a URI can be an expansion of a template; each expression matches any text. Takes linear time, because both
 * come from untrusted parties.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  const literals = template.split(/\{[^{}]*\}/);
  const first = literals[0] ?? "";
  const last = literals.at(-1) ?? "";
  if (literals.length === 1) return uri === first;
  if (uri.length < first.length + last.length || !uri.startsWith(first) || !uri.endsWith(last)) return false;
  const end = uri.length - last.length;
  let at = first.length;
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found === -1 || found + literal.length > end) return false;
    at = found + literal.length;
  }
  return true;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
