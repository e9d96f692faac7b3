import { ApiError, toApiError } from "./api-error.ts";

/** The logged-in account. */
export interface ConsoleSession {
  readonly email: string;
  readonly isAdmin: boolean;
}

/** The login of this browser: a cookie that scripts cannot read, and short-lived access tokens requested with it. */
export interface BrowserSession {
  /** Returns the logged-in account; opens the login page if there is none. */
  read(): Promise<ConsoleSession>;
  /** Returns an access token that is not about to expire; opens the login page if the session has ended. */
  accessToken(): Promise<string>;
  /** Drops the access token, so that the next one is new. */
  forget(): void;
  /** Logs out and opens the login page. */
  end(): Promise<void>;
}

/** How long before it expires an access token is replaced, in milliseconds. */
const RENEW_AHEAD_MS = 60_000;

/** Opens the login page, which leads back here. The promise never settles, because the page is unloaded. */
function leaveToLogin(): Promise<never> {
  const here = location.pathname + location.search;
  location.assign(`/login?return_to=${encodeURIComponent(here)}`);
  return new Promise(() => {});
}

async function readJson(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw toApiError(response, body);
  if (typeof body !== "object" || body === null) throw new ApiError(response.status, "The answer is no JSON object.");
  return { ...body };
}

/** The browser's session through `/session`. Access tokens stay in memory, and concurrent callers share one request. */
export function createBrowserSession(): BrowserSession {
  let token: { readonly text: string; readonly renewAt: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(): Promise<string> {
    const response = await fetch("/session/token", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    if (response.status === 401) return leaveToLogin();
    const { access_token, expires_in } = await readJson(response);
    const text = String(access_token);
    token = { text, renewAt: Date.now() + Number(expires_in) * 1_000 - RENEW_AHEAD_MS };
    return text;
  }
  return {
    async read() {
      const response = await fetch("/session");
      if (response.status === 401) return leaveToLogin();
      const { email, is_admin } = await readJson(response);
      return { email: String(email), isAdmin: is_admin === true };
    },
    async accessToken() {
      if (token !== undefined && token.renewAt > Date.now()) return token.text;
      fetching ??= fetchToken().finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    forget() {
      token = undefined;
    },
    async end() {
      token = undefined;
      const response = await fetch("/session", { method: "DELETE" });
      if (!response.ok && response.status !== 401) await readJson(response);
      location.assign("/login");
    },
  };
}
