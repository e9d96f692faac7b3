const QUALIFIED = /^patchbay:\/\/([1-9][0-9]{0,9})\/(.+)$/s;
const ENCODED = /^[A-Za-z][A-Za-z0-9+.-]*%3A/i;

/**
 * `patchbay://<connection id>/<uri>`: says of which connection a resource is.
 *
 * The URI stands in it as it is, which RFC 3986 allows in a path: so a template stays one, and what a client fills in is
 * encoded once.
 */
export function qualifyUri(uri: string, connectionId: number): string {
  return `patchbay://${connectionId}/${uri}`;
}

/** The two parts of a qualified URI, or undefined when it is not one. A URI that a client encoded as one path segment counts. */
export function splitQualifiedUri(uri: string): { readonly uri: string; readonly connectionId: number } | undefined {
  const [, id, rest] = QUALIFIED.exec(uri) ?? [];
  if (id === undefined || rest === undefined) return undefined;
  return { uri: ENCODED.test(rest) ? decoded(rest) : rest, connectionId: Number(id) };
}

/**
 * Whether a URI may come of a template, every expression taken for any text: enough to tell whose it is. Linear in the
 * length of both, since both are strangers' words.
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
