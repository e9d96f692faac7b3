/** A source of bearer tokens. */
export interface TokenSource {
  /** Returns a token that is valid as far as the source knows. */
  token(): Promise<string>;
  /** Returns a new token after the service rejected this one. Without this method the caller receives the rejection. */
  renew?(refused: string): Promise<string>;
}

/** Returns a source that always returns the same token, such as a personal access token. */
export function toTokenSource(token: string | TokenSource): TokenSource {
  return typeof token === "string" ? { token: async () => token } : token;
}
