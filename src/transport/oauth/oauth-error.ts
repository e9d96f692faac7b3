/** A refusal of the token endpoint in the words of RFC 6749 §5.2. The description is public. */
export class OAuthError extends Error {
  readonly status: number;
  /** The `error` member. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    description: string,
    headers: Readonly<Record<string, string>> = {},
    cause?: unknown,
  ) {
    super(description, { cause });
    this.name = "OAuthError";
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** 401 with the challenge that RFC 6749 §5.2 asks for. Never says which of client and secret was wrong. */
export function invalidClient(issuer: string, description: string): OAuthError {
  return new OAuthError(401, "invalid_client", description, {
    "www-authenticate": `Basic realm="${issuer}", error="invalid_client", charset="UTF-8"`,
  });
}

/** 400 for a request that is not as RFC 6749 defines it. */
export function invalidRequest(description: string): OAuthError {
  return new OAuthError(400, "invalid_request", description);
}
