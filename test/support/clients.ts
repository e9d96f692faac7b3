import type { DescMethod } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { AccountSettingsService } from "../../gen/proto/patchbay/v1/account_settings_service_pb.ts";
import { AdminService } from "../../gen/proto/patchbay/v1/admin_service_pb.ts";
import { AuditService } from "../../gen/proto/patchbay/v1/audit_service_pb.ts";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { GrantService } from "../../gen/proto/patchbay/v1/grant_service_pb.ts";
import { HistoryService } from "../../gen/proto/patchbay/v1/history_service_pb.ts";
import { IntegrationService } from "../../gen/proto/patchbay/v1/integration_service_pb.ts";
import { OAuthClientService } from "../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import { OrganizationService } from "../../gen/proto/patchbay/v1/organization_service_pb.ts";
import { PersonalAccessTokenService } from "../../gen/proto/patchbay/v1/personal_access_token_service_pb.ts";
import { RuntimeService } from "../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import { ToolService } from "../../gen/proto/patchbay/v1/tool_service_pb.ts";
import { WebhookService } from "../../gen/proto/patchbay/v1/webhook_service_pb.ts";
import type { JsonObject } from "../../src/json.ts";
import { PROTOCOL_NAMES, type ProtocolName, type Outcome } from "./outcome.ts";
import { callRest } from "./rest-client.ts";
import { callRpc } from "./rpc-client.ts";

export interface CallOptions {
  readonly input?: JsonObject | undefined;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A client of one protocol, built from the generated code. */
export interface ProtocolClient {
  readonly name: ProtocolName;
  readonly isRest: boolean;
  call(operation: string, options?: CallOptions): Promise<Outcome>;
}

export const OPERATIONS: ReadonlyMap<string, DescMethod> = new Map(
  [
    AccountSettingsService,
    AdminService,
    AuditService,
    ConnectionService,
    GrantService,
    HistoryService,
    IntegrationService,
    OAuthClientService,
    OrganizationService,
    PersonalAccessTokenService,
    RuntimeService,
    ToolService,
    WebhookService,
  ]
    .flatMap(({ methods }) => methods)
    .map((method) => [method.name, method]),
);

/** Throws for an operation that the contract does not have. */
export function operationNamed(name: string): DescMethod {
  const method = OPERATIONS.get(name);
  if (method === undefined) throw new Error(`The contract has no operation ${name}.`);
  return method;
}

/** RPC calls have the deadline `timeoutMs`, in milliseconds. */
export function createProtocolClient(name: ProtocolName, url: string, timeoutMs?: number): ProtocolClient {
  const transport = transportOf(name, url);
  return {
    name,
    isRest: transport === undefined,
    call: (operation, { input = {}, token, headers = {} } = {}) => {
      const method = operationNamed(operation);
      const sent = new Headers(headers);
      if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
      return transport === undefined
        ? callRest(url, method, input, sent)
        : callRpc(transport, method, input, sent, timeoutMs);
    },
  };
}

export function createProtocolClients(url: string): readonly ProtocolClient[] {
  return PROTOCOL_NAMES.map((name) => createProtocolClient(name, url));
}

function transportOf(name: ProtocolName, url: string): Transport | undefined {
  switch (name) {
    case "rest":
      return undefined;
    case "connect":
      return createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false });
    case "grpc":
      return createGrpcTransport({ baseUrl: url });
    case "grpc-web":
      return createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" });
  }
}
