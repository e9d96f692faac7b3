/** An error of the token endpoint. `code` is an error code of RFC 6749, 5.2, such as `invalid_client`. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  readonly code: string;
  /** The HTTP status of the response. */
  readonly status: number;

  constructor(code: string, message: string, status: number) {
    super(message);
    this.code = code;
    this.status = status;
  }
}
