import { answerFault } from "../http/answer.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { httpStatusOf, toFault, type Fault } from "../http/fault.ts";
import type { Log } from "../http/log.ts";
import type { Route, RouteMethods } from "../http/router.ts";
import { answerPage } from "./answer-page.ts";
import { messagePage } from "./message-page.ts";

/** A route for browsers. */
export interface PageRoute {
  readonly path: string;
  /** Whether failures are sent as JSON, `{detail, code}`, for scripts. Default: as a page. */
  readonly isJson?: boolean;
  readonly methods: RouteMethods;
}

const TITLES: Readonly<Record<number, string>> = {
  403: "Access denied",
  404: "Page not found",
  405: "This is not possible",
  429: "Too many attempts",
  503: "Not available at the moment",
};

/** The text of an error for the person. Unexpected errors do not disclose their cause. */
export function toPageFault(thrown: unknown): Fault {
  const fault = toFault(thrown);
  if (fault.kind !== "internal") return fault;
  return { ...fault, message: "An internal error occurred. Try again in a moment." };
}

function answerFailure(exchange: HttpExchange, fault: Fault): void {
  const { message, headers } = fault;
  const status = httpStatusOf(fault);
  const title = TITLES[status] ?? (status < 500 ? "Request failed" : "Something went wrong");
  const link = { path: "/account", text: "Go to your account" };
  answerPage(exchange, status, messagePage({ title, message, link }), { headers });
}

/** Creates routes of pages: failures are sent in the form of the route; failures of the service are logged. */
export function servePages(pages: readonly PageRoute[], log: Log, limit: "address" | "token" = "address"): Route[] {
  return pages.map(({ path, methods, isJson = false }) => ({
    ...{ path, methods, limit },
    fail: (exchange, thrown) => {
      const fault = toPageFault(thrown);
      if (httpStatusOf(fault) >= 500) log.error({ err: thrown, path }, "a page failed");
      if (isJson) answerFault(exchange, fault);
      else answerFailure(exchange, fault);
    },
  }));
}
