import { DomainError } from "../../domain-error.ts";
import type { ErrorKind } from "../../error-reason.ts";
import type { ErrorReason } from "../../error-reason.ts";
import { type HttpRequest, type HttpResponse, sendJson } from "../http/node-exchange.ts";
import { OAuthError } from "../oauth/oauth-error.ts";
import { messagePage } from "./message-page.ts";
import { sendPage } from "./send-page.ts";

/** Answers one method of a path. What it throws is answered for it. */
export type PageHandler = (request: HttpRequest, response: HttpResponse, query: URLSearchParams) => Promise<void>;

/** A path for browsers. `HEAD` is answered where `GET` is. */
export interface PageRoute {
  /** The whole path, or everything below one: `/authorizations/*`. A whole path comes first. */
  readonly path: string;
  /** Whether failures are JSON, `{detail, code}`, for scripts; pages, for people, unless told. */
  readonly isJson?: boolean;
  readonly GET?: PageHandler;
  readonly POST?: PageHandler;
  readonly DELETE?: PageHandler;
}

/** What a failure is called in HTTP. */
const STATUSES: Readonly<Partial<Record<ErrorKind, number>>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  stale: 412,
  too_large: 413,
  exhausted: 429,
  unavailable: 503,
};

const TITLES: Readonly<Record<number, string>> = {
  403: "That was refused",
  404: "There is nothing here",
  405: "That does not work here",
  429: "Too many attempts",
  503: "Not at the moment",
};

/** A failure as it is answered: its status, what the person reads, and when trying again may help. */
export interface Refusal {
  readonly status: number;
  /** What scripts tell the failure by. */
  readonly code: ErrorReason;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Judges what a handler threw; what nobody expected is a 500 that says nothing of its cause. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof DomainError) {
    const status = error.field === "content-type" ? 415 : (STATUSES[error.kind] ?? 500);
    const wait = error.retryAfterSeconds;
    const headers = wait === undefined ? {} : { "retry-after": String(wait) };
    if (status < 500 || error.kind === "unavailable")
      return {
        status,
        code: status === 415 ? "UNSUPPORTED_MEDIA_TYPE" : error.reason,
        message: error.message,
        headers,
      };
  }
  if (error instanceof OAuthError && error.status === 413)
    return {
      status: 413,
      code: "REQUEST_TOO_LARGE",
      message: "That is more than a form of ours can hold.",
      headers: {},
    };
  return {
    status: 500,
    code: "INTERNAL",
    message: "Something went wrong on our side. Try again in a moment.",
    headers: {},
  };
}

/** Answers a failure in the form of its route. */
export function sendRefusal(response: HttpResponse, refusal: Refusal, isJson: boolean): void {
  const { status, code, message, headers } = refusal;
  if (isJson) {
    sendJson(response, status, { detail: message, code }, { "cache-control": "no-store", ...headers });
    return;
  }
  const title = TITLES[status] ?? (status < 500 ? "That did not work" : "Something went wrong");
  sendPage(response, status, messagePage({ title, message, link: { path: "/account", text: "Go to your account" } }), {
    headers,
  });
}

/** Serves routes for browsers; `onError` gets the causes of answers 500 and above. */
export function createPageServer(deps: {
  readonly routes: readonly PageRoute[];
  readonly onError: (error: unknown) => void;
}): { handle(request: HttpRequest, response: HttpResponse): Promise<void> } {
  const routes = new Map(deps.routes.map((route) => [route.path, route]));
  const below = deps.routes.filter(({ path }) => path.endsWith("/*"));

  async function serve(route: PageRoute, request: HttpRequest, response: HttpResponse, query: string): Promise<void> {
    const method = request.method === "HEAD" ? "GET" : request.method;
    const handler = method === "GET" || method === "POST" || method === "DELETE" ? route[method] : undefined;
    if (handler === undefined) {
      const allow = (["GET", "POST", "DELETE"] as const)
        .filter((each) => route[each] !== undefined)
        .flatMap((each) => (each === "GET" ? ["GET", "HEAD"] : [each]));
      const headers = { allow: allow.join(", ") };
      const refusal: Refusal = { status: 405, code: "METHOD_NOT_ALLOWED", message: "Method not allowed.", headers };
      sendRefusal(response, refusal, route.isJson ?? false);
      return;
    }
    await handler(request, response, new URLSearchParams(query));
  }

  return {
    async handle(request, response) {
      const [path = "", query = ""] = (request.url ?? "").split("?", 2);
      const route = routes.get(path) ?? below.find((each) => path.startsWith(each.path.slice(0, -1)));
      try {
        if (route === undefined)
          sendRefusal(response, { status: 404, code: "ROUTE_NOT_FOUND", message: "Not found.", headers: {} }, false);
        else await serve(route, request, response, query);
      } catch (error) {
        const refusal = toRefusal(error);
        const hasLeft = request.destroyed && !request.complete;
        if (refusal.status >= 500 && !hasLeft) deps.onError(error);
        sendRefusal(response, refusal, route?.isJson ?? false);
      } finally {
        // What is left of the body is read away, so that the connection can carry the next request.
        request.resume();
      }
    },
  };
}
