import createFindMyWay, { type HTTPMethod } from "find-my-way";
import type { Binding, PathParameters } from "../rpc/rest/binding.ts";
import type { RestHandler } from "../rpc/rest/protocol-handler.ts";
import type { Exchange } from "./exchange.ts";

/** Where a request goes. */
export type Route =
  | { readonly kind: "rest"; readonly handler: RestHandler; readonly parameters: PathParameters }
  | { readonly kind: "wrong_method"; readonly allow: readonly string[] }
  | { readonly kind: "unknown" };

/** REST paths and what serves them. */
export interface RestRouter {
  /** Finds the handler by method and path; the path is decoded once, letter case and slashes count. OPTIONS finds none. */
  find(method: string, path: string): Route;
}

const METHODS: readonly HTTPMethod[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

const NO_PARAMETERS: PathParameters = {};
const UNKNOWN: Route = { kind: "unknown" };

/** The longest path parameter that is looked at; the header limit is below it. */
const MAX_PARAMETER_LENGTH = 32 * 1024;

/** Makes the router. HEAD is served where GET is. */
export function createRestRouter(
  handlers: readonly { readonly binding: Binding; readonly handler: RestHandler }[],
): RestRouter {
  const tree = createFindMyWay({ maxParamLength: MAX_PARAMETER_LENGTH });
  /** Paths without parameters, by method: the most frequent request is one of them. */
  const exact = new Map<string, Map<string, Route>>();
  /** The same paths. What is served there by no method is not served by a parameter that would take the word either. */
  const literal = new Set<string>();

  for (const { binding, handler } of handlers) {
    const method = METHODS.find((each) => each === binding.httpMethod);
    if (method === undefined) throw new Error(`REST does not serve ${binding.httpMethod} ${binding.template}`);
    const path = binding.template.replaceAll(/\{([^}]+)\}/g, ":$1");
    tree.on(method, path, NOT_CALLED, handler);
    if (path !== binding.template) continue;
    const paths = exact.get(method) ?? new Map<string, Route>();
    paths.set(path, { kind: "rest", handler, parameters: NO_PARAMETERS });
    exact.set(method, paths);
    literal.add(path);
  }

  const findInTree = (method: HTTPMethod, path: string): Route => {
    // An empty segment is no parameter: `/things/` and `/things//parts` are nowhere. Nor has a request a fragment, at which
    // the tree would stop reading.
    if (path.endsWith("/") || path.includes("//") || path.includes("#")) return UNKNOWN;
    const found = tree.find(method, path);
    return found === null ? UNKNOWN : { kind: "rest", handler: handlerIn(found.store), parameters: found.params };
  };
  const isServed = (method: HTTPMethod, path: string): boolean =>
    literal.has(path) ? exact.get(method)?.has(path) === true : findInTree(method, path).kind === "rest";
  const allowed = (path: string): readonly string[] =>
    METHODS.filter((method) => isServed(method, path)).flatMap((method) =>
      method === "GET" ? ["GET", "HEAD"] : [method],
    );

  return {
    find: (method, path) => {
      const asked = method === "HEAD" ? "GET" : method;
      const route = exact.get(asked)?.get(path);
      if (route !== undefined) return route;
      const known = METHODS.find((each) => each === asked);
      const found = known === undefined || literal.has(path) ? UNKNOWN : findInTree(known, path);
      if (found.kind === "rest") return found;
      const allow = allowed(path);
      return allow.length === 0 ? UNKNOWN : { kind: "wrong_method", allow: [...allow, "OPTIONS"] };
    },
  };
}

/** A handler of Node's own kind for paths that are no RPC: the OAuth server, metadata, documents. */
export interface NodeRoute {
  /** A whole path, or everything below one: `/oauth2/*`. */
  readonly path: string;
  handle(...pair: NodePair): void | Promise<void>;
}

type NodePair = [
  request: ReturnType<Exchange["toNode"]>["request"],
  response: ReturnType<Exchange["toNode"]>["response"],
];

/** Finds a Node route by path. */
export function createNodeRoutes(routes: readonly NodeRoute[]): (path: string) => NodeRoute | undefined {
  const whole = new Map(routes.filter(({ path }) => !path.endsWith("/*")).map((route) => [route.path, route]));
  const below = routes.filter(({ path }) => path.endsWith("/*"));
  return (path) => whole.get(path) ?? below.find((route) => path.startsWith(route.path.slice(0, -1)));
}

function NOT_CALLED(): void {
  throw new Error("The tree is only searched; its handlers are never called.");
}

/** What the tree stores with a path is the handler that was put there above. */
function handlerIn(store: unknown): RestHandler {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return store as RestHandler;
}
