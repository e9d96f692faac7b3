/** An address without placeholders and without its query: nothing of the configuration is filled into it. */
export function literal(url: URL): string {
  return `${url.origin}${withoutBraces(url.pathname)}`;
}

/** The same with its query. */
export function literalWithQuery(url: URL): string {
  return `${literal(url)}${withoutBraces(url.search)}`;
}

function withoutBraces(text: string): string {
  return text.replaceAll("{", "%7B").replaceAll("}", "%7D");
}
