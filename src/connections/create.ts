import { invalid } from "../domain-error.ts";
import { unknownServerType } from "../integrations/catalog/load-catalog.ts";
import type { Catalog } from "../integrations/integration.ts";
import type { SchemaValidator } from "../integrations/schema-checks/json-schema.ts";
import type { ConnectionDraft } from "./connection.ts";
import { checkAccessType, checkToolChangeAcceptance } from "./change.ts";
import { checkConfiguration, missingCredentialReason, splitConfiguration } from "./configuration.ts";
import type { NewConnection } from "./connection-store.ts";
import { chooseAuthMethod } from "./auth-method.ts";
import { NOT_YET_AUTHORIZED } from "../integrations/authorization.ts";
import { checkApiKey, checkDescription, checkName } from "./text.ts";

/** Checks a draft against its integration. Throws `invalid` naming the field. */
export function prepareConnection(
  accountId: string,
  draft: ConnectionDraft,
  catalog: Catalog,
  validator: SchemaValidator,
): NewConnection {
  if (draft.serverType === "") throw invalid("server_type", "server_type is required.");
  const integration = catalog.get(draft.serverType);
  if (integration === undefined) throw unknownServerType(draft.serverType, catalog);
  checkConfiguration(integration, draft.configuration, validator, "configuration");
  const { configuration, secrets } = splitConfiguration(integration, draft.configuration);
  const { credentialProperty } = integration;
  const credential = credentialProperty === undefined ? undefined : secrets[credentialProperty];
  if (typeof credential === "string") checkApiKey(credential);
  const authMethod = chooseAuthMethod(integration, draft.authMethod, credential !== undefined);
  const client = authMethod === "oauth2" ? integration.clientAuthorization : undefined;
  client?.checkDestination(configuration);
  const needsAuthorization = authMethod === "oauth2" && client === undefined;
  return {
    accountId,
    serverType: draft.serverType,
    name: draft.name === undefined ? integration.title : checkName(draft.name),
    description: checkDescription(draft.description ?? ""),
    accessType: checkAccessType(draft.accessType ?? "write"),
    configuration,
    secrets,
    hasCredential: credential !== undefined,
    statusReason: needsAuthorization
      ? NOT_YET_AUTHORIZED
      : client === undefined
        ? missingCredentialReason(integration, credential !== undefined)
        : undefined,
    authMethod,
    needsAuthorization,
    acceptToolChanges: checkToolChangeAcceptance(draft.acceptToolChanges ?? "manual"),
  };
}
