const QUALIFIED_IN_SCHEME = /^(ui|skill):\/\/patchbay\/([1-9][0-9]{0,9})\/(.+)$/s;
const QUALIFIED = /^patchbay:\/\/([1-9][0-9]{0,9})\/(.+)$/s;
const ENCODED = /^[A-Za-z][A-Za-z0-9+.-]*%3A/i;

const IN_SCHEME = /^(ui|skill):\/\/(.+)$/s;

/**
 * Returns `patchbay://<connection id>/<uri>`. RFC 3986 allows an unencoded URI in the path, so a template remains a
 * template and its variables are encoded once. Hosts of MCP Apps accept only `ui:`, and servers of skills should use
 * `skill:`, so `ui://<rest>` becomes `ui://patchbay/<connection id>/<rest>`, and `skill://<rest>` likewise.
 */
export function qualifyUri(uri: string, connectionId: number): string {
  const [, scheme, rest] = IN_SCHEME.exec(uri) ?? [];
  if (scheme !== undefined && rest !== undefined) return `${scheme}://patchbay/${connectionId}/${rest}`;
  return `patchbay://${connectionId}/${uri}`;
}

/** Returns the parts of a qualified URI, or undefined for other URIs. Accepts a URI that the client encoded as one path segment. */
export function splitQualifiedUri(uri: string): { readonly uri: string; readonly connectionId: number } | undefined {
  const [, scheme, ownId, path] = QUALIFIED_IN_SCHEME.exec(uri) ?? [];
  if (scheme !== undefined && ownId !== undefined && path !== undefined)
    return { uri: `${scheme}://${path}`, connectionId: Number(ownId) };
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

/** Whether a URI is the directory of the skill with this `SKILL.md`, or anything in it. */
export function isInSkill(manifest: string, uri: string): boolean {
  const directory = manifest.slice(0, manifest.lastIndexOf("/"));
  return uri.startsWith(directory) && (uri.length === directory.length || uri.charAt(directory.length) === "/");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
