import type { ConnectionView } from "../../../connections/connection-view.ts";
import { type AdmissionDeps, serveAdmitted } from "../../gate/serve-admitted.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import type { Route, RouteHandler } from "../../http/router.ts";
import { SSE_ENDPOINT } from "../address.ts";
import { answerRpcFault } from "../endpoint/answer-rpc-fault.ts";
import { connectionIdIn, createEndpointAccess } from "../endpoint/endpoint-access.ts";
import type { OriginGuard } from "../origin-guard.ts";
import { readAccept } from "../reply.ts";
import { CODES, requestFault, RpcFault } from "../rpc-fault.ts";
import { createSseHandler } from "./sse-handler.ts";
import type { SseServing } from "./sse-serving.ts";

interface SseDeps extends AdmissionDeps, Omit<SseServing, "access"> {
  readonly publicUrl: string;
  readonly connections: Pick<ConnectionView, "find">;
  readonly guard: OriginGuard;
}

/** The routes of HTTP+SSE: one address for all connections, and one for each. */
export function createSseRoutes(deps: SseDeps): readonly Pick<Route, "path" | "methods">[] {
  const access = createEndpointAccess(deps.connections, deps.publicUrl, SSE_ENDPOINT);
  const handler = createSseHandler({ ...deps, access });

  async function serve(exchange: HttpExchange, connectionId: number | undefined, query: string): Promise<void> {
    deps.guard(exchange);
    const { method } = exchange;
    if (method !== "GET" && method !== "POST") {
      throw new RpcFault(CODES.server, "Method not allowed.", { httpStatus: 405, headers: { allow: "GET, POST" } });
    }
    await serveAdmitted(deps, exchange, {
      access: access.accessTo(connectionId),
      limiter: method === "POST" ? deps.upstreamLimiter : undefined,
      serve: async (bearer, stopDeadline) => {
        if (bearer === undefined) throw new Error("the gate returned no principal");
        const principal = await access.actorAt(connectionId, bearer);
        const accepted = readAccept(exchange.headers.accept);
        const admitted = { exchange, bearer, principal, accepted, onSent: stopDeadline };
        if (method === "POST") return handler.post(admitted, query);
        stopDeadline();
        return handler.get(admitted, connectionId);
      },
      fail: (thrown) => answerRpcFault(exchange, undefined, requestFault(thrown, deps.log)),
    });
  }

  const serveConnection: RouteHandler = (exchange, { parameters, query }) =>
    serve(exchange, connectionIdIn(parameters), query);
  return [
    { path: SSE_ENDPOINT, methods: (exchange, { query }) => serve(exchange, undefined, query) },
    { path: `${SSE_ENDPOINT}/{id}`, methods: serveConnection },
  ];
}
