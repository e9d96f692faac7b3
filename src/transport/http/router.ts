import createFindMyWay from "find-my-way";
import type { HttpExchange } from "./exchange.ts";

/** The values of a path's parameters by name, decoded. */
export type PathParameters = Readonly<Record<string, string | undefined>>;

/** Answers an exchange. What it throws is answered for it by its route's `fail`. */
export type RouteHandler = (
  exchange: HttpExchange,
  request: { readonly parameters: PathParameters; readonly query: string },
) => void | Promise<void>;

/** The methods that routes serve; HEAD is served where GET is. */
export const ROUTE_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** What each method of a path does. */
export type RouteMethods = Readonly<Partial<Record<(typeof ROUTE_METHODS)[number], RouteHandler>>>;

/** A path and what serves it. */
export interface Route {
  /** A whole path, with parameters: `/things/{id}`; or everything below one: `/oauth2/*`. Letter case and slashes count. */
  readonly path: string;
  /** A handler for each method, or one that judges the method itself. */
  readonly methods: RouteMethods | RouteHandler;
  /** Answers a failure in the form that callers of the path expect. */
  readonly fail: (exchange: HttpExchange, thrown: unknown) => void;
  /** Which limit counts its requests by address; none for what counts by account, or not at all. */
  readonly limit?: "address" | "token";
  /** Whether pages of listed origins may call it. */
  readonly isCrossOrigin?: boolean;
  /** Whether OPTIONS is answered with the methods that there are. */
  readonly hasOptions?: boolean;
}

/** A route for anybody, whose failures are told in the usual form. */
export type PublicRoute = Pick<Route, "path" | "methods">;

/** Where a request goes. */
export interface RouteMatch {
  readonly route: Route;
  readonly parameters: PathParameters;
}

/** The paths that are served. */
export interface Router {
  /** Finds the route of a path, decoded once; undefined for a path at which there is nothing. */
  find(path: string): RouteMatch | undefined;
}

/** The longest path parameter that is looked at; the header limit is below it. */
const MAX_PARAMETER_LENGTH = 32 * 1024;

const NO_PARAMETERS: PathParameters = {};

/** Makes the router. A path without parameters comes before one with, and both before everything below one. */
export function createRouter(routes: readonly Route[]): Router {
  const tree = createFindMyWay({ maxParamLength: MAX_PARAMETER_LENGTH });
  /** Paths without parameters: the most frequent request is one of them. */
  const exact = new Map<string, RouteMatch>();
  for (const route of mergeMethods(routes)) {
    const pattern = route.path.replaceAll(/\{([^{}]+)\}/g, ":$1");
    // The tree finds paths alone; a path's methods are the route's to know.
    tree.on("GET", pattern, NOT_CALLED, route);
    if (pattern === route.path && !pattern.endsWith("/*")) exact.set(pattern, { route, parameters: NO_PARAMETERS });
  }
  return {
    find: (path) => {
      const match = exact.get(path);
      if (match !== undefined) return match;
      // A request has no fragment; the tree would stop reading at one.
      const found = path.includes("#") ? null : tree.find("GET", path);
      if (found === null) return undefined;
      const route = routeIn(found.store);
      // An empty segment is no parameter: `/things/` and `/things//parts` are nowhere.
      const hasEmptySegment = path.endsWith("/") || path.includes("//");
      return hasEmptySegment && !route.path.endsWith("/*") ? undefined : { route, parameters: found.params };
    },
  };
}

/** One route a path: bindings of the same path bring a method each. */
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

/** The handler of a method; undefined where the path does not take it. */
export function handlerOf({ methods }: Route, method: string): RouteHandler | undefined {
  if (typeof methods === "function") return methods;
  const asked = method === "HEAD" ? "GET" : method;
  const known = ROUTE_METHODS.find((each) => each === asked);
  return known && methods[known];
}

/** The methods that a path takes, for `Allow`. */
export function allowedMethods({ methods, hasOptions }: Route): string {
  const served = typeof methods === "function" ? [] : ROUTE_METHODS.filter((each) => methods[each] !== undefined);
  const allowed = served.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...allowed, ...(hasOptions === true ? ["OPTIONS"] : [])].join(", ");
}

function NOT_CALLED(): void {
  throw new Error("The tree is only searched; its handlers are never called.");
}

/** What the tree stores with a path is the route that was put there above. */
function routeIn(store: unknown): Route {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return store as Route;
}
