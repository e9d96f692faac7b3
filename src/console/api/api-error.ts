/** An error response of the API, with its text for people. */
export class ApiError extends Error {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** Seconds until a retry, if the API states them. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, message: string, retryAfterSeconds?: number) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function detailOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  if ("detail" in body && typeof body.detail === "string") return body.detail;
  if ("error_description" in body && typeof body.error_description === "string") return body.error_description;
  return undefined;
}

/** The text of an error response. */
export function toApiError(response: Response, body: unknown): ApiError {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const message = detailOf(body) ?? `The service answered ${response.status} without an explanation.`;
  return new ApiError(response.status, message, Number.isFinite(seconds) ? seconds : undefined);
}

/** The text to show for any thrown value. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof ApiError) return thrown.message;
  if (thrown instanceof TypeError) return "The service cannot be reached. Check the network and try again.";
  return "Something went wrong in the console. Reload the page and try again.";
}
