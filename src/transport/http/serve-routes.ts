import { answerFault, createFailWithDetail } from "./answer.ts";
import { ConnectionLost, type HttpExchange } from "./exchange.ts";
import { methodNotAllowed, routeNotFound, toFault } from "./fault.ts";
import type { Log } from "./log.ts";
import { allowedMethods, createRouter, handlerOf, type PublicRoute, type Route, type RouteMatch } from "./router.ts";

/** What is decided of a request before its handler: returns true when it is answered. Throws what the route answers as its failure. */
export type RouteAdmission = (exchange: HttpExchange, route: Route) => boolean;

/** Makes the handler of every request: finds the route, admits, calls, and answers what was thrown. Never throws. */
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

/** Routes that need no token: counted by address, with failures as `{detail, code}`. */
export function servePublic(routes: readonly PublicRoute[], log: Log): readonly Route[] {
  const fail = createFailWithDetail(log);
  return routes.map((route) => ({ ...route, fail, limit: "address" }));
}
