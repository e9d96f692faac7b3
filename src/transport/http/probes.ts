import type { Exchange } from "./exchange.ts";
import { answerDetail, JSON_HEADERS } from "./answer.ts";

/** Answers `/healthz` (the process is up) and `/readyz` (it can serve). Returns whether the path was one of them. */
export function answerProbe(exchange: Exchange, path: string, isReady: () => boolean): boolean {
  if (path !== "/healthz" && path !== "/readyz") return false;
  if (exchange.method !== "GET" && exchange.method !== "HEAD") {
    answerDetail(exchange, 405, "METHOD_NOT_ALLOWED", "Method not allowed.", { allow: "GET, HEAD" });
  } else if (path === "/healthz" || isReady()) {
    exchange.respond(200, JSON_HEADERS, JSON.stringify({ status: "ok" }));
  } else {
    answerDetail(exchange, 503, "UNAVAILABLE", "Not ready.", { "retry-after": "1" });
  }
  return true;
}
