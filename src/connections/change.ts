import { isDeepStrictEqual } from "node:util";
import { invalid } from "../domain-error.ts";
import { checkAlias } from "./alias.ts";
import { authMethodsOf } from "../integrations/authentication.ts";
import type { Integration } from "../integrations/integration.ts";
import type { SchemaValidator } from "../integrations/schema-checks/json-schema.ts";
import type { JsonObject } from "../json.ts";
import {
  ACCESS_TYPES,
  connectionScopes,
  MAX_CALL_SECONDS,
  MAX_KEEP_CONTENTS_DAYS,
  TOOL_CHANGE_ACCEPTANCES,
  type AccessType,
  type Connection,
  type ToolChangeAcceptance,
} from "./connection.ts";
import type { ChangeEffects } from "./connection-store.ts";
import { CHANGED_SINCE_AUTHORIZED } from "../integrations/authorization.ts";
import {
  checkConfiguration,
  mergeConfiguration,
  missingCredentialReason,
  splitConfiguration,
} from "./configuration.ts";
import { checkApiKey, checkClientSecret, checkDescription, checkName } from "./text.ts";

/** Absent fields keep their values (SPEC «PUT», rule 1). */
export interface ConnectionChange {
  readonly connectionId?: string | undefined;
  readonly agentEnabled?: boolean | undefined;
  readonly accessType?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly name?: string | undefined;
  readonly alias?: string | undefined;
  readonly description?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly configuration?: JsonObject | undefined;
  readonly disabledTools?: readonly number[] | undefined;
  readonly acceptToolChanges?: string | undefined;
  readonly keepContentsDays?: number | undefined;
  readonly callIdleSeconds?: number | undefined;
  readonly callMaxSeconds?: number | undefined;
}

export interface ChangeContext {
  readonly integration: Integration;
  readonly validator: SchemaValidator;
  /** The current secrets. Needed if the key or the configuration changes. */
  readonly secrets: JsonObject;
  /** The ids of all current tools. Needed for `disabled_tools` and `individual`. */
  readonly toolIds: readonly number[];
}

/** The connection after the change, and its effects. */
export interface DecidedChange {
  readonly after: Connection;
  readonly effects: ChangeEffects;
}

/** Throws the specification's 400. */
export function checkAccessType(word: string): AccessType {
  const known = ACCESS_TYPES.find((type) => type === word);
  if (known === undefined) throw invalid("access_type", "Invalid access type specified");
  return known;
}

/** Throws `invalid`. */
export function checkToolChangeAcceptance(word: string): ToolChangeAcceptance {
  const known = TOOL_CHANGE_ACCEPTANCES.find((each) => each === word);
  if (known === undefined) throw invalid("accept_tool_changes", "accept_tool_changes must be manual or automatic.");
  return known;
}

/** Throws `invalid`. */
function checkKeepContentsDays(days: number): number {
  if (Number.isInteger(days) && days >= 0 && days <= MAX_KEEP_CONTENTS_DAYS) return days;
  throw invalid("keep_contents_days", `keep_contents_days must be from 0 to ${MAX_KEEP_CONTENTS_DAYS}.`);
}

/** Throws `invalid`. */
function checkCallSeconds(field: "call_idle_seconds" | "call_max_seconds", seconds: number): number {
  if (Number.isInteger(seconds) && seconds >= 0 && seconds <= MAX_CALL_SECONDS) return seconds;
  throw invalid(field, `${field} must be from 0 to ${MAX_CALL_SECONDS}; 0 means the default of the installation.`);
}

/**
 * Applies a change by the rules of SPEC «PUT» and DESIGN §6. Returns `before` itself if nothing changes. Throws
 * `invalid` naming the field.
 */
export function applyChange(before: Connection, change: ConnectionChange, ground: ChangeContext): DecidedChange {
  if (change.connectionId !== undefined && change.connectionId !== String(before.id)) {
    throw invalid("connection_id", `connection_id must be ${before.id}, the connection that the path names.`);
  }
  let after: Connection = {
    ...before,
    ...(change.agentEnabled === undefined ? {} : { agentEnabled: change.agentEnabled }),
    ...(change.name === undefined ? {} : { name: checkName(change.name) }),
    ...(change.description === undefined ? {} : { description: checkDescription(change.description) }),
    ...(change.callIdleSeconds === undefined
      ? {}
      : { callIdleSeconds: checkCallSeconds("call_idle_seconds", change.callIdleSeconds) }),
    ...(change.callMaxSeconds === undefined
      ? {}
      : { callMaxSeconds: checkCallSeconds("call_max_seconds", change.callMaxSeconds) }),
  };
  let effects: ChangeEffects = {};
  if (change.accessType !== undefined)
    ({ after, effects } = withAccess(after, checkAccessType(change.accessType), ground));
  if (change.alias !== undefined && checkAlias(change.alias) !== before.alias)
    ({ after, effects } = { after: { ...after, alias: change.alias }, effects: { ...effects, claimAlias: true } });
  if (change.disabledTools !== undefined) after = withDisabledTools(after, change.disabledTools, ground.toolIds);
  if (change.acceptToolChanges !== undefined) {
    const acceptToolChanges = checkToolChangeAcceptance(change.acceptToolChanges);
    if (acceptToolChanges !== before.acceptToolChanges) effects = { ...effects, forgetAcceptedDefinitions: true };
    after = { ...after, acceptToolChanges };
  }
  if (change.keepContentsDays !== undefined)
    ({ after, effects } = withKeeping(after, effects, checkKeepContentsDays(change.keepContentsDays)));
  if (change.clientSecret !== undefined) {
    // The old secret may have leaked, so everything issued with it is revoked.
    effects = { ...effects, clientSecret: checkClientSecret(change.clientSecret), endClientAccess: true };
  }
  if (change.apiKey !== undefined || change.configuration !== undefined) {
    const keyed = withKey(after, change, ground);
    ({ after, effects } = { after: keyed.after, effects: { ...effects, ...keyed.effects } });
  }
  const changesNothing = Object.keys(effects).length === 0 && isDeepStrictEqual(after, before);
  return { after: changesNothing ? before : after, effects };
}

function withAccess(before: Connection, accessType: AccessType, ground: ChangeContext): DecidedChange {
  if (accessType === before.accessType) return { after: before, effects: {} };
  const scopes = connectionScopes(accessType);
  const narrows = scopes.length < connectionScopes(before.accessType).length;
  const knownToolIds = accessType === "individual" && ground.toolIds.length > 0 ? ground.toolIds : undefined;
  return {
    after: { ...before, accessType, knownToolIds },
    effects: { clientScopes: scopes, endClientAccess: narrows },
  };
}

function withKeeping(before: Connection, effects: ChangeEffects, keepContentsDays: number): DecidedChange {
  const daysBefore = before.keepContentsDays;
  if (keepContentsDays === daysBefore) return { after: before, effects };
  const turned = daysBefore === 0 ? "on" : keepContentsDays === 0 ? "off" : undefined;
  return {
    after: { ...before, keepContentsDays },
    effects: {
      ...effects,
      ...(turned === undefined ? {} : { contentsChange: turned }),
      ...(keepContentsDays < daysBefore ? { purgeContents: true } : {}),
    },
  };
}

function withDisabledTools(before: Connection, wanted: readonly number[], toolIds: readonly number[]): Connection {
  // A removed tool stays disabled, so its id stays valid.
  const acceptable = new Set([...toolIds, ...before.disabledToolIds]);
  const unknown = wanted.find((id) => !acceptable.has(id));
  if (unknown !== undefined) {
    throw invalid("disabled_tools", `disabled_tools: ${unknown} is not the id of a tool of this connection.`);
  }
  const disabledToolIds = [...new Set(wanted)].sort((a, b) => a - b);
  const knownToolIds = before.knownToolIds && [...new Set([...before.knownToolIds, ...toolIds])];
  return { ...before, disabledToolIds, knownToolIds };
}

function withKey(before: Connection, change: ConnectionChange, ground: ChangeContext): DecidedChange {
  const { integration, validator, secrets } = ground;
  const patch = { ...change.configuration };
  if (change.apiKey !== undefined) {
    const property = integration.credentialProperty;
    if (property === undefined) {
      throw invalid("api_key", `api_key: connections of type ${integration.serverType} have no key.`);
    }
    if (patch[property] !== undefined && patch[property] !== change.apiKey) {
      throw invalid("api_key", `api_key and config.${property} mean the same secret; supply one of them.`);
    }
    patch[property] = checkApiKey(change.apiKey);
  }
  const whole = mergeConfiguration({ ...before.configuration, ...secrets }, patch);
  const field = change.configuration === undefined ? "api_key" : "config";
  checkConfiguration(integration, whole, validator, field);
  const moved = integration.destinationProperties.filter(
    (property) => !isDeepStrictEqual(before.configuration[property], whole[property]),
  );
  requireSecretsForMove(moved[0], secrets, patch);
  const split = splitConfiguration(integration, whole);
  const renewed = integration.secretProperties.some((property) => property in patch);
  if (!renewed && moved.length === 0) return { after: { ...before, configuration: split.configuration }, effects: {} };
  const { credentialProperty } = integration;
  const hasCredential = credentialProperty !== undefined && credentialProperty in split.secrets;
  const changed: Connection = {
    ...before,
    configuration: split.configuration,
    hasCredential,
    verificationStatus: "pending",
    statusReason: missingCredentialReason(integration, hasCredential),
    keyVersion: before.keyVersion + 1,
  };
  const effects: ChangeEffects = { secrets: split.secrets, verify: true, forgetTools: moved.length > 0 };
  if (before.authMethod === "configured") return { after: changed, effects };
  return underAuthorization(changed, integration, effects, moved.length > 0);
}

/**
 * The effects of a new key or destination on an authorized connection. A key replaces the authorization, and a
 * destination that may need none is verified without it. Otherwise the owner must authorize again, since the tokens
 * were issued for the old destination. A connection of the operator's client continues with the new configuration.
 */
function underAuthorization(
  changed: Connection,
  integration: Integration,
  effects: ChangeEffects,
  hasMoved: boolean,
): DecidedChange {
  const ended: ChangeEffects = { ...effects, endAuthorization: true };
  const { clientAuthorization: client, lacksClient = false } = integration;
  if (!changed.hasCredential && (client !== undefined || lacksClient)) {
    client?.checkDestination(changed.configuration);
    return { after: { ...changed, needsAuthorization: false, statusReason: undefined }, effects: ended };
  }
  if (changed.hasCredential || (hasMoved && authMethodsOf(integration).includes("none")))
    return { after: { ...changed, authMethod: "configured", needsAuthorization: false }, effects: ended };
  const statusReason = CHANGED_SINCE_AUTHORIZED;
  return { after: { ...changed, needsAuthorization: true, statusReason }, effects: { ...ended, verify: false } };
}

/** A new destination requires all stored secrets again, so that they go only where the owner sends them (DESIGN §6). */
function requireSecretsForMove(moved: string | undefined, secrets: JsonObject, patch: JsonObject): void {
  if (moved === undefined) return;
  const kept = Object.keys(secrets).find((property) => !(property in patch));
  if (kept === undefined) return;
  throw invalid(
    "config",
    `config.${moved} decides where the connection's secrets are sent: supply ${kept} again in the same request to change it.`,
  );
}

/** The changed fields as an update names them, and the names of configuration keys. */
export function changedFields(before: Connection, after: Connection, change: ConnectionChange): readonly string[] {
  const fields: string[] = [];
  if (before.name !== after.name) fields.push("name");
  if (before.alias !== after.alias) fields.push("alias");
  if (before.description !== after.description) fields.push("description");
  if (before.agentEnabled !== after.agentEnabled) fields.push("agent_enabled");
  if (before.accessType !== after.accessType) fields.push("access_type");
  if (!isDeepStrictEqual(before.disabledToolIds, after.disabledToolIds)) fields.push("disabled_tools");
  if (before.acceptToolChanges !== after.acceptToolChanges) fields.push("accept_tool_changes");
  if (before.keepContentsDays !== after.keepContentsDays) fields.push("keep_contents_days");
  if (before.callIdleSeconds !== after.callIdleSeconds) fields.push("call_idle_seconds");
  if (before.callMaxSeconds !== after.callMaxSeconds) fields.push("call_max_seconds");
  if (change.apiKey !== undefined) fields.push("api_key");
  if (change.clientSecret !== undefined) fields.push("oauth2_client_secret");
  for (const key of Object.keys(change.configuration ?? {})) fields.push(`config.${key}`);
  return fields;
}
