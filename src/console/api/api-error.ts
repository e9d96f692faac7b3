/** A refusal of the API, in the words it has for people. */
export class ApiError extends Error {
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  /** Seconds to wait before the next attempt, where the API says so. */
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

/** What an answer without success says. */
export function toApiError(response: Response, body: unknown): ApiError {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const message = detailOf(body) ?? `The service answered ${response.status} without an explanation.`;
  return new ApiError(response.status, message, Number.isFinite(seconds) ? seconds : undefined);
}

/** What to show for anything that was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof ApiError) return thrown.message;
  if (thrown instanceof TypeError) return "The service cannot be reached. Check the network and try again.";
  return "Something went wrong in the console. Reload the page and try again.";
}
