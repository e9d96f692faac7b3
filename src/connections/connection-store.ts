import type { Scope } from "../identity/scopes.ts";
import type { Actor } from "../identity/actor.ts";
import type { AuthorizedBy } from "../integrations/target.ts";
import type { JsonObject } from "../json.ts";
import type { AuthorizationNeed } from "../integrations/authorization.ts";
import type { CreatedConnection, CreateKey } from "./create-once.ts";
import type { ExpectedVersions } from "./expected-versions.ts";
import type { AccessType, Connection, ToolChangeAcceptance, VerificationStatus } from "./connection.ts";

/** A connection about to be stored: validated, its secrets set apart. */
export interface NewConnection {
  readonly accountId: string;
  readonly serverType: string;
  readonly name: string;
  readonly description: string;
  readonly accessType: AccessType;
  readonly configuration: JsonObject;
  /** Sealed by the store, never returned. */
  readonly secrets: JsonObject;
  readonly hasCredential: boolean;
  readonly statusReason: string | undefined;
  readonly acceptToolChanges: ToolChangeAcceptance;
  readonly authMethod: AuthorizedBy;
  /** Waits for its owner's authorisation. */
  readonly needsAuthorization: boolean;
}

/** What a change of a connection entails beside its own row, all in one transaction. */
export interface ChangeEffects {
  /** All secrets as they are from now on. Undefined keeps them. */
  readonly secrets?: JsonObject;
  /** Verify the key anew. */
  readonly verify?: boolean;
  /** Forget the cached tool list and which definitions are in force: they came from another destination. */
  readonly forgetTools?: boolean;
  /** Forget which definitions are in force: all are as the upstream has them. */
  readonly forgetAcceptedDefinitions?: boolean;
  /** Ends the authorisation that its owner gave at the third party: its tokens go with it. */
  readonly endAuthorization?: boolean;
  /** Hash of the new secret of the connection's own client. */
  readonly clientSecret?: string;
  /** The scopes of the connection's own client from now on. */
  readonly clientScopes?: readonly Scope[];
  /** Ends the tokens of the connection's own client and the sessions they opened. */
  readonly endClientAccess?: boolean;
  /** From now on arguments and results of calls are kept, or no longer are: said by itself in the audit log. */
  readonly contentsChange?: "on" | "off";
  /** Delete what was kept for longer than it may be now. */
  readonly purgeContents?: boolean;
}

/** What the audit log says of a change: who made it, and the names of the fields, never their values. */
export interface AuditedBy {
  readonly actor: Actor;
  readonly fields: readonly string[];
}

/** One page of an account's connections. */
export interface ConnectionPage {
  readonly connections: readonly Connection[];
  readonly totalCount: number;
}

/**
 * Connections at rest. The owner is part of every question, so a query without one cannot be asked.
 * What changes a connection for somebody writes down who, in the same transaction.
 * Every method throws DomainError `unavailable` when the database cannot be reached.
 */
export interface ConnectionStore {
  /** The account's connection, or undefined: missing, deleted and somebody else's are the same. */
  find(accountId: string, id: number): Promise<Connection | undefined>;
  /** All of the account's connections, oldest first. */
  list(accountId: string): Promise<readonly Connection[]>;
  /** A page of them, oldest first. */
  listPage(accountId: string, limit: number, offset: number): Promise<ConnectionPage>;
  /** The secrets of that key version as sealed at rest, or undefined when there are none. Safe to keep in memory. */
  sealedSecrets(accountId: string, id: number, keyVersion: number): Promise<Uint8Array | undefined>;
  /** Opens what `sealedSecrets` gave. Not for keeping. */
  openSecrets(accountId: string, id: number, sealed: Uint8Array): JsonObject;
  /** Stores a connection with its own client and its verification job, or throws `exhausted` past the account's limit. */
  create(connection: NewConnection, actor: Actor): Promise<Connection>;
  /** What an earlier request under that key created, for as long as the key counts. Throws `conflict` when it was another request. */
  findCreated(accountId: string, key: CreateKey): Promise<CreatedConnection | undefined>;
  /** As `create`, once for each key: the same request again, even at the same time, is answered with what the first one made. */
  createOnce(connection: NewConnection, actor: Actor, key: CreateKey): Promise<CreatedConnection>;
  /** Replaces `before` by `after` with all effects, or changes nothing and answers undefined when `before` is not current. */
  save(
    before: Connection,
    after: Connection,
    effects: ChangeEffects,
    audit: AuditedBy,
  ): Promise<Connection | undefined>;
  /**
   * Deletes a connection for good with all that hangs on it. False when there was none. Throws `stale`, and deletes nothing,
   * when it is of none of the expected versions.
   */
  delete(accountId: string, id: number, actor: Actor, expected?: ExpectedVersions): Promise<boolean>;
  /** Records what a verification saw, if the key is still the one it tested. */
  recordVerification(
    accountId: string,
    id: number,
    keyVersion: number,
    status: VerificationStatus,
    reason: string | undefined,
  ): Promise<boolean>;
  /**
   * Has the owner authorise the connection, if its key is still the one that was found wanting; false when it is not, or
   * when that was known already. Without an authorisation that stays in use the verification becomes `failed`, or stays
   * `pending` before there ever was one.
   */
  requireAuthorization(accountId: string, id: number, keyVersion: number, need: AuthorizationNeed): Promise<boolean>;
  /** Under `individual`: takes tools among the known ones, and among the disabled ones unless none were known yet. */
  adoptTools(accountId: string, id: number, toolIds: readonly number[]): Promise<void>;
}
