/** Where a client's bearer tokens come from. */
export interface TokenSource {
  /** A token that is valid now, as far as the source knows. */
  token(): Promise<string>;
  /** Another token after the service refused this one. Without it, the refusal is the caller's. */
  renew?(refused: string): Promise<string>;
}

/** A token as it is (a personal access token, say) is a source that always gives the same. */
export function toTokenSource(token: string | TokenSource): TokenSource {
  return typeof token === "string" ? { token: async () => token } : token;
}
