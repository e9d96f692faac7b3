import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type HandlerContext, type MethodImplSpec } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import { createUniversalMethodHandler } from "@connectrpc/connect/protocol";
import { createHandlerFactory as createConnect } from "@connectrpc/connect/protocol-connect";
import { createHandlerFactory as createGrpc } from "@connectrpc/connect/protocol-grpc";
import { createHandlerFactory as createGrpcWeb } from "@connectrpc/connect/protocol-grpc-web";
import { exchangeKey } from "../caller.ts";
import { callStream, callUnary, type ServedRpc } from "../calls.ts";
import { COMPRESS_MIN_BYTES, mayCompress } from "../../http/compression.ts";
import { detailsOf } from "../error-details.ts";
import { reasonOfCode, toCallFault, toConnectError } from "../call-fault.ts";
import type { Gate } from "../../gate/gate.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import type { Log } from "../../http/log.ts";
import { principalKey } from "../principal.ts";
import { maxTimeoutMs } from "../wait.ts";
import { BINARY_READ_OPTIONS, JSON_READ_OPTIONS } from "./messages.ts";

/** What Connect's own handlers need. */
export interface StockDeps {
  readonly gate: Gate;
  readonly log: Log;
  /** Aborts when the server stops, which ends streams. */
  readonly shutdownSignal: AbortSignal;
}

/** Connect's own handlers of one RPC over our HTTP exchange: streams, compression, gRPC-Web, Connect GET. */
export interface StockHandler {
  readonly allowedMethods: readonly string[];
  supportsContentType(contentType: string): boolean;
  /** Never rejects. */
  serve(exchange: HttpExchange): Promise<void>;
}

/** Larger than any response. */
const NEVER_BYTES = 0xffff_ffff;

/** Creates the handler of an RPC for gRPC, gRPC-Web and Connect. */
export function createStockHandler(rpc: ServedRpc, deps: StockDeps): StockHandler {
  const options = {
    interceptors: [],
    writeMaxBytes: NEVER_BYTES,
    requireConnectProtocolHeader: false,
    requestGate: async (context: HandlerContext) => {
      await passGate(rpc, context, deps);
    },
    acceptCompression: [compressionGzip, compressionBrotli],
    compressMinBytes: mayCompress(rpc.method.output) ? COMPRESS_MIN_BYTES : NEVER_BYTES,
    readMaxBytes: rpc.maxRequestBytes,
    jsonOptions: { alwaysEmitImplicit: true, ...JSON_READ_OPTIONS },
    binaryOptions: BINARY_READ_OPTIONS,
    // A unary call in progress may finish.
    ...(rpc.method.methodKind !== "unary" && { shutdownSignal: deps.shutdownSignal }),
    maxTimeoutMs: rpc.method.methodKind === "unary" ? maxTimeoutMs(rpc) : Number.MAX_SAFE_INTEGER,
  };
  const protocols = [createGrpc(options), createGrpcWeb(options), createConnect(options)];
  const handler = createUniversalMethodHandler(behindOneWay(rpc, deps), protocols);

  return {
    allowedMethods: handler.allowedMethods,
    supportsContentType: handler.supportedContentType,
    serve: async (exchange) => {
      const { request, response } = exchange.toNode();
      response.on("error", ignore);
      response.once("finish", () => {
        exchange.discardBody();
      });
      try {
        const values = createContextValues().set(exchangeKey, exchange);
        const universal = universalRequestFromNodeRequest(request, response, undefined, values);
        // Abandoning the body must not destroy the socket that carries the response.
        const body = request.iterator({ destroyOnReturn: false });
        await universalResponseToNodeResponse(await handler({ ...universal, body }), response);
      } catch (thrown) {
        // A failure here occurred while sending: the caller has disconnected, or the response cannot be completed.
        if (ConnectError.from(thrown).code !== Code.Canceled && exchange.isOpen) {
          deps.log.warn({ err: thrown, rpc: rpc.path }, "response aborted");
        }
        exchange.destroy();
      }
    },
  };
}

async function passGate(rpc: ServedRpc, context: HandlerContext, deps: StockDeps): Promise<void> {
  const exchange = context.values.get(exchangeKey);
  if (exchange === undefined) throw new Error("the call has no HTTP exchange");
  explainOwnErrors(context.signal);
  try {
    context.values.set(principalKey, await deps.gate(rpc, exchange));
  } catch (thrown) {
    throw toConnectError(toCallFault(thrown, rpc, deps.log));
  }
  // Node's own response was created before the gate added its headers.
  for (const [name, value] of Object.entries(exchange.alwaysSend ?? {})) context.responseHeader.set(name, value);
  exchange.sendContinue();
}

/**
 * Errors that Connect itself finds in a request do not pass through `toFault`. Connect first ends the call with the
 * error and then writes it, so the reason is added here.
 */
function explainOwnErrors(signal: AbortSignal): void {
  const explain = (): void => {
    const error: unknown = signal.reason;
    if (!(error instanceof ConnectError) || error.details.length > 0) return;
    error.details.push(...detailsOf({ reason: reasonOfCode(error.code), message: error.rawMessage }));
  };
  signal.addEventListener("abort", explain, { once: true });
}

/** Adapts the implementation for Connect and converts its failures to Connect errors. */
function behindOneWay(rpc: ServedRpc, deps: StockDeps): MethodImplSpec {
  const refine = (thrown: unknown, context: HandlerContext): ConnectError => {
    if (!context.signal.aborted) return toConnectError(toCallFault(thrown, rpc, deps.log));
    // The call had already ended, which caused whatever was thrown.
    const reason: unknown = context.signal.reason;
    return reason instanceof ConnectError ? reason : new ConnectError("the caller disconnected", Code.Canceled);
  };
  const { spec } = rpc;
  switch (spec.kind) {
    case "unary":
      return {
        ...spec,
        impl: async (message: Message, context: HandlerContext) => {
          try {
            return await callUnary(rpc, message, context);
          } catch (thrown) {
            throw refine(thrown, context);
          }
        },
      };
    case "server_streaming":
      return {
        ...spec,
        impl: async function* (message: Message, context: HandlerContext) {
          try {
            yield* callStream(rpc, message, context);
          } catch (thrown) {
            throw refine(thrown, context);
          }
        },
      };
    default:
      return spec;
  }
}

function ignore(): void {
  // The close event reports that the caller disconnected; the error adds nothing.
}
