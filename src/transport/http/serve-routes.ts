import { answerFault, createFailWithDetail } from "./answer.ts";
import { ConnectionLost, type HttpExchange } from "./exchange.ts";
import { methodNotAllowed, routeNotFound, toFault } from "./fault.ts";
import type { Log } from "./log.ts";
import { allowedMethods, createRouter, handlerOf, type PublicRoute, type Route, type RouteMatch } from "./router.ts";

/** Runs before the handler. Returns true if it has answered the request. The route's `fail` handles what it throws. */
export type RouteAdmission = (exchange: HttpExchange, route: Route) => boolean;

/**
 * Creates the handler of all requests: finds the route, runs `admit`, calls the handler and answers errors. Never
 * throws.
 */
export function serveRoutes(
  routes: readonly Route[],
  admit: RouteAdmission = () => false,
): (exchange: HttpExchange) => void {
  const router = createRouter(routes);

  const serve = (exchange: HttpExchange, match: RouteMatch, query: string): void | Promise<void> => {
    const { route, parameters } = match;
    if (admit(exchange, route)) return;
    const handler = handlerOf(route, exchange.method);
    if (handler !== undefined) return handler(exchange, { parameters, query });
    const allow = allowedMethods(route);
    if (exchange.method !== "OPTIONS" || route.hasOptions !== true) throw methodNotAllowed(allow);
    exchange.respond(204, { allow }, "");
  };

  const fail = (exchange: HttpExchange, { route }: RouteMatch, thrown: unknown): void => {
    if (thrown instanceof ConnectionLost) return;
    if (exchange.hasAnswered) exchange.destroy();
    else route.fail(exchange, thrown);
  };

  return (exchange) => {
    const { target } = exchange;
    const mark = target.indexOf("?");
    const match = router.find(mark < 0 ? target : target.slice(0, mark));
    if (match === undefined) {
      answerFault(exchange, toFault(routeNotFound()));
      return;
    }
    try {
      serve(exchange, match, mark < 0 ? "" : target.slice(mark + 1))?.catch((thrown: unknown) => {
        fail(exchange, match, thrown);
      });
    } catch (thrown) {
      fail(exchange, match, thrown);
    }
  };
}

/** Marks routes as public: requests are counted by address and failures are `{detail, code}`. */
export function servePublic(routes: readonly PublicRoute[], log: Log): readonly Route[] {
  const fail = createFailWithDetail(log);
  return routes.map((route) => ({ ...route, fail, limit: "address" }));
}
