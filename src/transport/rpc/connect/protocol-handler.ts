import type { ServedRpc } from "../calls.ts";
import { toCallFault } from "../call-fault.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { answerDetail, answerFault } from "../../http/answer.ts";
import { createFastConnect } from "./fast-connect.ts";
import { createFastGrpc } from "./fast-grpc.ts";
import { type CallDeps, type CallProtocol, serveCall } from "../serve-call.ts";
import { createStockHandler, type StockDeps } from "./stock.ts";

/** Serves one RPC over Connect, gRPC and gRPC-Web. Never rejects. */
export type RpcHandler = (exchange: HttpExchange) => Promise<void>;

/** Creates the handler of an RPC's path: the fast path if there is one, otherwise Connect's own handlers. */
export function createRpcHandler(
  rpc: ServedRpc,
  deps: CallDeps & StockDeps & { readonly fastPath: boolean },
): RpcHandler {
  const stock = createStockHandler(rpc, deps);
  const fast =
    deps.fastPath && rpc.method.methodKind === "unary" ? fastHandlers(rpc, deps) : new Map<string, RpcHandler>();

  const serveStock = async (exchange: HttpExchange, contentType: string): Promise<void> => {
    if (!stock.allowedMethods.includes(exchange.method)) {
      answerDetail(exchange, 405, "METHOD_NOT_ALLOWED", "Method not allowed.", {
        allow: stock.allowedMethods.join(", "),
      });
    } else if (exchange.method === "POST" && !stock.supportsContentType(contentType)) {
      await refuseContentType(rpc, exchange, deps);
    } else if (exchange.headers.host === undefined && exchange.headers[":authority"] === undefined) {
      answerDetail(exchange, 400, "MALFORMED_REQUEST", "A Host header is required.");
    } else {
      await stock.serve(exchange);
    }
  };

  return (exchange) => {
    const contentType = exchange.headers["content-type"] ?? "";
    const short = exchange.method === "POST" ? fast.get(contentType) : undefined;
    return short !== undefined && isPlain(exchange, contentType) ? short(exchange) : serveStock(exchange, contentType);
  };
}

/** Serves unary calls without Connect's own handlers; creates headers, signals and streams only on first use. */
function fastHandlers(rpc: ServedRpc, deps: CallDeps): Map<string, RpcHandler> {
  const serve =
    (protocol: CallProtocol): RpcHandler =>
    (exchange) =>
      serveCall(rpc, protocol, exchange, deps);
  const json = serve(createFastConnect(rpc, "json"));
  const grpc = serve(createFastGrpc(rpc));
  return new Map([
    ["application/json", json],
    ["application/json; charset=utf-8", json],
    ["application/proto", serve(createFastConnect(rpc, "proto"))],
    ["application/grpc", grpc],
    ["application/grpc+proto", grpc],
  ]);
}

/** Whether the fast path supports the request: uncompressed, and gRPC only over HTTP/2. */
function isPlain(exchange: HttpExchange, contentType: string): boolean {
  const { headers } = exchange;
  if (contentType.startsWith("application/grpc")) {
    const encoding = headers["grpc-encoding"];
    return exchange.httpVersion === "2.0" && (encoding === undefined || encoding === "identity");
  }
  const encoding = headers["content-encoding"];
  return encoding === undefined || encoding === "identity";
}

/** The gate runs first, so that a wrong Content-Type reveals nothing to unauthorized callers. */
async function refuseContentType(rpc: ServedRpc, exchange: HttpExchange, deps: CallDeps): Promise<void> {
  try {
    await deps.gate(rpc, exchange);
  } catch (thrown) {
    answerFault(exchange, toCallFault(thrown, rpc, deps.log));
    return;
  }
  const sentence = "Content-Type must be one of Connect, gRPC or gRPC-Web, such as application/json.";
  answerDetail(exchange, 415, "UNSUPPORTED_MEDIA_TYPE", sentence, {
    "accept-post": "application/json, application/proto, application/grpc, application/grpc-web",
  });
}
