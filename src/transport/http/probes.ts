import { answerFault, JSON_HEADERS } from "./answer.ts";
import { TransportError, toFault } from "./fault.ts";
import type { Route, RouteHandler } from "./router.ts";

/** `/livez` and `/healthz` (the process runs), and `/readyz` (it can serve). */
export function createProbeRoutes(isReady: () => boolean | Promise<boolean>): readonly Route[] {
  const ok: RouteHandler = (exchange) => {
    exchange.respond(200, JSON_HEADERS, JSON.stringify({ status: "ok" }));
  };
  const ready: RouteHandler = async (exchange, request) => {
    if (!(await isReady())) throw new TransportError("unavailable", "Not ready.", { retryAfterSeconds: 1 });
    return ok(exchange, request);
  };
  // A failed probe is reported by its status and need not be logged.
  const fail: Route["fail"] = (exchange, thrown) => {
    answerFault(exchange, toFault(thrown));
  };
  return [
    { path: "/livez", methods: { GET: ok }, fail },
    { path: "/healthz", methods: { GET: ok }, fail },
    { path: "/readyz", methods: { GET: ready }, fail },
  ];
}
