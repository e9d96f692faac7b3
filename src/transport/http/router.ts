import createFindMyWay from "find-my-way";
import type { HttpExchange } from "./exchange.ts";

/** Decoded path parameters by name. */
export type PathParameters = Readonly<Record<string, string | undefined>>;

/** Serves an exchange. The route's `fail` handles what it throws. */
export type RouteHandler = (
  exchange: HttpExchange,
  request: { readonly parameters: PathParameters; readonly query: string },
) => void | Promise<void>;

/** The methods of routes. GET also serves HEAD. */
export const ROUTE_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** The handler of each method. */
export type RouteMethods = Readonly<Partial<Record<(typeof ROUTE_METHODS)[number], RouteHandler>>>;

/** A path and its handlers. */
export interface Route {
  /**
   * An exact path, with parameters as in `/things/{id}`, or a prefix as in `/oauth2/*`. Case and slashes are
   * significant.
   */
  readonly path: string;
  /** A handler per method, or one handler for all methods. */
  readonly methods: RouteMethods | RouteHandler;
  /** Sends a failure in the form that callers of the path expect. */
  readonly fail: (exchange: HttpExchange, thrown: unknown) => void;
  /** The per-address limit that counts its requests. Undefined if requests are counted by account or not at all. */
  readonly limit?: "address" | "token";
  /** Whether CORS applies to the path. */
  readonly isCrossOrigin?: boolean;
  /** Whether OPTIONS returns the allowed methods. */
  readonly hasOptions?: boolean;
}

/** A route without authentication whose failures are `{detail, code}`. */
export type PublicRoute = Pick<Route, "path" | "methods">;

/** The route and parameters of a request. */
export interface RouteMatch {
  readonly route: Route;
  readonly parameters: PathParameters;
}

export interface Router {
  /** Finds the route of a path, decoded once. Returns undefined for an unknown path. */
  find(path: string): RouteMatch | undefined;
}

/** Maximum length of a path parameter; the header limit is below it. */
const MAX_PARAMETER_LENGTH = 32 * 1024;

const NO_PARAMETERS: PathParameters = {};

/** Creates the router. Exact paths take precedence over paths with parameters, and both over prefixes. */
export function createRouter(routes: readonly Route[]): Router {
  const tree = createFindMyWay({ maxParamLength: MAX_PARAMETER_LENGTH });
  /** Exact paths, which include the most frequent request. */
  const exact = new Map<string, RouteMatch>();
  for (const route of mergeMethods(routes)) {
    const pattern = route.path.replaceAll(/\{([^{}]+)\}/g, ":$1");
    // The tree only finds paths; the route knows its methods.
    tree.on("GET", pattern, NOT_CALLED, route);
    if (pattern === route.path && !pattern.endsWith("/*")) exact.set(pattern, { route, parameters: NO_PARAMETERS });
  }
  return {
    find: (path) => {
      const match = exact.get(path);
      if (match !== undefined) return match;
      // A request has no fragment, but the tree would stop at one.
      const found = path.includes("#") ? null : tree.find("GET", path);
      if (found === null) return undefined;
      const route = routeIn(found.store);
      // A parameter cannot be empty: `/things/` and `/things//parts` are unknown paths.
      const hasEmptySegment = path.endsWith("/") || path.includes("//");
      return hasEmptySegment && !route.path.endsWith("/*") ? undefined : { route, parameters: found.params };
    },
  };
}

/** One route per path, because bindings of the same path each add a method. */
function mergeMethods(routes: readonly Route[]): readonly Route[] {
  const byPath = new Map<string, Route>();
  for (const route of routes) {
    const known = byPath.get(route.path);
    if (known === undefined) byPath.set(route.path, route);
    else if (typeof known.methods === "function" || typeof route.methods === "function") {
      throw new Error(`${route.path} is routed twice`);
    } else byPath.set(route.path, { ...known, methods: { ...known.methods, ...route.methods } });
  }
  return [...byPath.values()];
}

/** Returns the handler of a method, or undefined if the path does not support it. */
export function handlerOf({ methods }: Route, method: string): RouteHandler | undefined {
  if (typeof methods === "function") return methods;
  const asked = method === "HEAD" ? "GET" : method;
  const known = ROUTE_METHODS.find((each) => each === asked);
  return known && methods[known];
}

/** The methods of a path, for `Allow`. */
export function allowedMethods({ methods, hasOptions }: Route): string {
  const served = typeof methods === "function" ? [] : ROUTE_METHODS.filter((each) => methods[each] !== undefined);
  const allowed = served.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...allowed, ...(hasOptions === true ? ["OPTIONS"] : [])].join(", ");
}

function NOT_CALLED(): void {
  throw new Error("The tree is only searched; its handlers are never called.");
}

/** The tree stores the route inserted above with each path. */
function routeIn(store: unknown): Route {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return store as Route;
}
