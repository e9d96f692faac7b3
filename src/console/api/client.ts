import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { paths } from "../../../gen/openapi/patchbay.ts";
import { ApiError, toApiError } from "./api-error.ts";
import type { BrowserSession } from "./session.ts";

export type ApiClient = Client<paths>;

function withToken(session: BrowserSession): Middleware {
  return {
    async onRequest({ request }) {
      request.headers.set("authorization", `Bearer ${await session.accessToken()}`);
      return request;
    },
    onResponse({ response }) {
      // The session may have ended. The next request asks for a new token, or opens the login page.
      if (response.status === 401) session.forget();
      return undefined;
    },
  };
}

/** A client of our own origin that acts for the logged-in account. */
export function createApiClient(session: BrowserSession): ApiClient {
  const client = createClient<paths>({ baseUrl: location.origin });
  client.use(withToken(session));
  return client;
}

interface Answer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** Returns the body of a successful response. Throws ApiError otherwise. */
export async function bodyOf<Got extends Answer>(answer: Promise<Got>): Promise<NonNullable<Got["data"]>> {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response, error);
  if (data === undefined || data === null) throw new ApiError(response.status, "The answer is empty.");
  return data;
}
