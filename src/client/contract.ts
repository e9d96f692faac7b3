/** The messages and services of the RPC contract, as generated from it. */
export * from "../../gen/proto/patchbay/v1/account_settings_pb.ts";
export * from "../../gen/proto/patchbay/v1/account_settings_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/call_pb.ts";
export * from "../../gen/proto/patchbay/v1/connection_pb.ts";
export * from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/found_tool_pb.ts";
export * from "../../gen/proto/patchbay/v1/history_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/integration_pb.ts";
export * from "../../gen/proto/patchbay/v1/integration_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/oauth_client_pb.ts";
export * from "../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/personal_access_token_pb.ts";
export * from "../../gen/proto/patchbay/v1/personal_access_token_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/runtime_service_pb.ts";
export * from "../../gen/proto/patchbay/v1/tool_change_pb.ts";
export * from "../../gen/proto/patchbay/v1/tool_pb.ts";
export * from "../../gen/proto/patchbay/v1/tool_service_pb.ts";
