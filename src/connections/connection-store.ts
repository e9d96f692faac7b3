import type { Scope } from "../identity/scopes.ts";
import type { Actor } from "../identity/actor.ts";
import type { AuthorizedBy } from "../integrations/target.ts";
import type { JsonObject } from "../json.ts";
import type { AuthorizationNeed } from "../integrations/authorization.ts";
import type { CreatedConnection, CreateKey } from "./create-once.ts";
import type { ExpectedVersions } from "./expected-versions.ts";
import type { AccessType, Connection, ToolChangeAcceptance, VerificationStatus } from "./connection.ts";

/** A validated connection before it is stored. */
export interface NewConnection {
  readonly accountId: string;
  readonly serverType: string;
  readonly name: string;
  readonly description: string;
  readonly accessType: AccessType;
  readonly configuration: JsonObject;
  /** Encrypted by the store, never returned. */
  readonly secrets: JsonObject;
  readonly hasCredential: boolean;
  readonly statusReason: string | undefined;
  readonly acceptToolChanges: ToolChangeAcceptance;
  readonly authMethod: AuthorizedBy;
  /** Whether the owner must authorize it first. */
  readonly needsAuthorization: boolean;
}

/** Effects of a change besides the update of its row, all in one transaction. */
export interface ChangeEffects {
  /** All secrets after the change. Undefined keeps them. */
  readonly secrets?: JsonObject;
  /** Verify the key again. */
  readonly verify?: boolean;
  /** Delete the tool list and the accepted definitions, which came from another destination. */
  readonly forgetTools?: boolean;
  /** Delete the accepted definitions, so that the upstream's are current. */
  readonly forgetAcceptedDefinitions?: boolean;
  /** Ends the owner's authorization and revokes its tokens. */
  readonly endAuthorization?: boolean;
  /** The new secret of the connection's own client. */
  readonly clientSecret?: string;
  /** The new scopes of the connection's own client. */
  readonly clientScopes?: readonly Scope[];
  /** Revokes the tokens of the connection's own client and ends their sessions. */
  readonly endClientAccess?: boolean;
  /** Starts or stops storing call payloads, with its own audit event. */
  readonly contentsChange?: "on" | "off";
  /** Delete call payloads older than the new limit. */
  readonly purgeContents?: boolean;
  /** Throw `conflict` if another connection of the account has the new alias. */
  readonly claimAlias?: boolean;
}

/** Data for the audit event: the actor and the names of the changed fields. */
export interface AuditedBy {
  readonly actor: Actor;
  readonly fields: readonly string[];
}

export interface ConnectionPage {
  readonly connections: readonly Connection[];
  readonly totalCount: number;
}

/**
 * Stores connections. Every query includes the account, and every change writes its audit event in the same
 * transaction. Every method throws DomainError `unavailable` if the database cannot be reached.
 */
export interface ConnectionStore {
  /** Returns undefined for a missing or deleted connection and for another account's. */
  find(accountId: string, id: number): Promise<Connection | undefined>;
  /** Oldest first. */
  list(accountId: string): Promise<readonly Connection[]>;
  /** Oldest first. */
  listPage(accountId: string, limit: number, offset: number): Promise<ConnectionPage>;
  /** Returns the encrypted secrets of a key version, which may be cached, or undefined if there are none. */
  sealedSecrets(accountId: string, id: number, keyVersion: number): Promise<Uint8Array | undefined>;
  /** Decrypts the result of `sealedSecrets`. Do not store the plain secrets. */
  openSecrets(accountId: string, id: number, sealed: Uint8Array): JsonObject;
  /**
   * Stores a connection with a free alias, its own client and its verification. Throws `exhausted` above the account's
   * limit.
   */
  create(connection: NewConnection, actor: Actor): Promise<Connection>;
  /**
   * Returns the result of an earlier request with this key while the key is valid. Throws `conflict` if that request
   * was different.
   */
  findCreated(accountId: string, key: CreateKey): Promise<CreatedConnection | undefined>;
  /** Like `create`, but a repeated request with the same key, even a concurrent one, returns the first result. */
  createOnce(connection: NewConnection, actor: Actor, key: CreateKey): Promise<CreatedConnection>;
  /**
   * Replaces `before` by `after` with all effects. Returns undefined and changes nothing if `before` is not current.
   * Throws `conflict` if another connection has the new alias.
   */
  save(
    before: Connection,
    after: Connection,
    effects: ChangeEffects,
    audit: AuditedBy,
  ): Promise<Connection | undefined>;
  /**
   * Deletes a connection with all dependent rows. Returns false if there is none. Throws `stale` if it has none of the
   * expected versions.
   */
  delete(accountId: string, id: number, actor: Actor, expected?: ExpectedVersions): Promise<boolean>;
  /** Records a verification result if the key is still the tested one. */
  recordVerification(
    accountId: string,
    id: number,
    keyVersion: number,
    status: VerificationStatus,
    reason: string | undefined,
  ): Promise<boolean>;
  /**
   * Marks the connection as needing authorization if its key is still the given one. Returns false if it is not, or
   * was marked already. If no authorization stays usable, the verification becomes `failed`, or stays `pending` before
   * the first one.
   */
  requireAuthorization(accountId: string, id: number, keyVersion: number, need: AuthorizationNeed): Promise<boolean>;
  /** Under `individual`: records tools as known, and disables them unless none were known yet. */
  adoptTools(accountId: string, id: number, toolIds: readonly number[]): Promise<void>;
}
