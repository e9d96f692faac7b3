import { answerFault } from "../http/answer.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { httpStatusOf, toFault, type Fault } from "../http/fault.ts";
import type { Log } from "../http/log.ts";
import type { Route, RouteMethods } from "../http/router.ts";
import { answerPage } from "./answer-page.ts";
import { messagePage } from "./message-page.ts";

/** A path for browsers. */
export interface PageRoute {
  readonly path: string;
  /** Whether failures are JSON, `{detail, code}`, for scripts; pages, for people, unless told. */
  readonly isJson?: boolean;
  readonly methods: RouteMethods;
}

const TITLES: Readonly<Record<number, string>> = {
  403: "That was refused",
  404: "There is nothing here",
  405: "That does not work here",
  429: "Too many attempts",
  503: "Not at the moment",
};

/** What a handler threw, as the person reads it; what nobody foresaw says nothing of its cause. */
export function toPageFault(thrown: unknown): Fault {
  const fault = toFault(thrown);
  if (fault.kind !== "internal") return fault;
  return { ...fault, message: "Something went wrong on our side. Try again in a moment." };
}

function answerFailure(exchange: HttpExchange, fault: Fault): void {
  const { message, headers } = fault;
  const status = httpStatusOf(fault);
  const title = TITLES[status] ?? (status < 500 ? "That did not work" : "Something went wrong");
  const link = { path: "/account", text: "Go to your account" };
  answerPage(exchange, status, messagePage({ title, message, link }), { headers });
}

/** The routes of pages: failures are answered in the form of the route, and those of the service are logged. */
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
