import { createConnectTransport } from "@connectrpc/connect-web";
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

/** Creates Connect clients over `fetch`, for browsers and other runtimes. They fail with `ConnectError`. */
export function createConnectClients(options: RpcOptions): Clients {
  return createClients(createConnectTransport({ ...toTransportOptions(options), useHttpGet: false }));
}
