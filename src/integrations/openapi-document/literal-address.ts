/** Returns a URL without its query, with braces encoded so that the configuration fills no placeholders. */
export function literal(url: URL): string {
  return `${url.origin}${withoutBraces(url.pathname)}`;
}

/** Like `literal`, but keeps the query. */
export function literalWithQuery(url: URL): string {
  return `${literal(url)}${withoutBraces(url.search)}`;
}

function withoutBraces(text: string): string {
  return text.replaceAll("{", "%7B").replaceAll("}", "%7D");
}
