import { create } from "@bufbuild/protobuf";
import {
  type ConfigurationReport as WireReport,
  ConfigurationReportSchema,
  type PreviewedTool,
  PreviewedToolSchema,
  type ToolPreview as WirePreview,
  ToolPreviewSchema,
} from "../../../../gen/proto/patchbay/v1/integration_service_pb.ts";
import {
  type Integration as WireIntegration,
  IntegrationSchema,
} from "../../../../gen/proto/patchbay/v1/integration_pb.ts";
import type { ConfigurationReport, ToolPreview } from "../../../connections/trials.ts";
import { authMethodsOf } from "../../../integrations/authentication.ts";
import type { Integration } from "../../../integrations/integration.ts";
import type { ToolDefinition } from "../../../integrations/tool.ts";
import { toWireAnnotations } from "./tool.ts";

export function toWireIntegration(integration: Integration): WireIntegration {
  const { category, documentationUrl, credentialProperty, toolCount } = integration;
  return create(IntegrationSchema, {
    serverType: integration.serverType,
    title: integration.title,
    description: integration.description,
    ...(category === undefined ? {} : { category }),
    ...(documentationUrl === undefined ? {} : { documentationUrl }),
    configurationSchema: integration.configurationSchema,
    ...(credentialProperty === undefined ? {} : { credentialProperty }),
    ...(toolCount === undefined ? {} : { toolCount }),
    authMethods: [...authMethodsOf(integration)],
  });
}

export function toWireReport({ errors, verification }: ConfigurationReport): WireReport {
  return create(ConfigurationReportSchema, {
    valid: errors.length === 0,
    errors: errors.map(({ field, message }) => ({ field, message })),
    ...(verification === undefined ? {} : { verification: toWireVerification(verification) }),
  });
}

function toWireVerification(verification: NonNullable<ConfigurationReport["verification"]>): {
  readonly outcome: string;
  readonly reason?: string;
} {
  if (verification.outcome === "verified") return { outcome: "verified" };
  const { outcome, reason } = verification;
  return { outcome: outcome === "retry" ? "inconclusive" : outcome, reason };
}

export function toWirePreview({ tools, totalCount, limit, offset, hasMore }: ToolPreview): WirePreview {
  return create(ToolPreviewSchema, { tools: tools.map(toWirePreviewedTool), totalCount, limit, offset, hasMore });
}

function toWirePreviewedTool(tool: ToolDefinition): PreviewedTool {
  return create(PreviewedToolSchema, {
    name: tool.name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    annotations: toWireAnnotations(tool),
    readOnly: tool.readOnly,
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
  });
}
