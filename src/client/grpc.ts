import { createGrpcTransport } from "@connectrpc/connect-node";
import { type Clients, createClients } from "./clients.ts";
import { type RpcOptions, toTransportOptions } from "./rpc-options.ts";

export { Code, ConnectError } from "@connectrpc/connect";
export { ErrorInfoSchema } from "../../gen/proto/google/rpc/error_details_pb.ts";
export { type Clients, createClients } from "./clients.ts";
export * from "./contract.ts";
export { createClientCredentials, type ClientCredentialsOptions } from "./client-credentials.ts";
export { DEFAULT_RETRIES, type RetryPolicy } from "./retry-policy.ts";
export type { RpcOptions } from "./rpc-options.ts";
export { TokenError } from "./token-error.ts";
export type { TokenSource } from "./token-source.ts";

/** Creates gRPC clients over HTTP/2, for Node and runtimes with its `http2` module. They fail with `ConnectError`. */
export function createGrpcClients(options: RpcOptions): Clients {
  return createClients(createGrpcTransport(toTransportOptions(options)));
}
