/** Returns a URL without its query, with braces encoded so that the configuration fills no placeholders. */
export function literal(url: URL): string {
  return `${url.origin}${withoutBraces(url.pathname)}`;
}

/** The same with the query. */
export function literalWithQuery(url: URL): string {
  return `${literal(url)}${withoutBraces(url.search)}`;
}

function withoutBraces(text: string): string {
  return text.replaceAll("{", "%7B").replaceAll("}", "%7D");
}
