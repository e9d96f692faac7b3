import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetIntegrationResponseSchema,
  type IntegrationService,
  ListIntegrationsResponseSchema,
  PreviewToolsResponseSchema,
  ValidateConfigurationResponseSchema,
} from "../../../../gen/proto/patchbay/v1/integration_service_pb.ts";
import type { Trials } from "../../../connections/trials.ts";
import { getIntegration, listIntegrations } from "../../../integrations/catalog/browse-catalog.ts";
import type { Catalog } from "../../../integrations/integration.ts";
import { toWireIntegration, toWirePreview, toWireReport } from "../mappers/integration.ts";
import { principalOf } from "../principal.ts";

/** Handlers of IntegrationService. */
export function createIntegrationHandlers(deps: {
  readonly catalog: Catalog;
  readonly trials: Trials;
}): ServiceImpl<typeof IntegrationService> {
  const { catalog, trials } = deps;
  return {
    listIntegrations: () =>
      create(ListIntegrationsResponseSchema, {
        success: true,
        data: listIntegrations(catalog).map(toWireIntegration),
      }),

    getIntegration: ({ serverType }) =>
      create(GetIntegrationResponseSchema, {
        success: true,
        data: toWireIntegration(getIntegration(catalog, serverType)),
      }),

    async validateConfiguration({ serverType, configuration }, context) {
      const report = await trials.validate(principalOf(context), { serverType, configuration }, context.signal);
      return create(ValidateConfigurationResponseSchema, { success: true, data: toWireReport(report) });
    },

    async previewTools({ serverType, configuration, limit, offset }, context) {
      const trial = { serverType, configuration, limit, offset };
      const preview = await trials.previewTools(principalOf(context), trial, context.signal);
      return create(PreviewToolsResponseSchema, { success: true, data: toWirePreview(preview) });
    },
  };
}
