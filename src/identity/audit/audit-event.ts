import type { Actor } from "../actor.ts";

/** Audited actions: an object type, a dot, the operation. */
export const AUDIT_ACTIONS = [
  "account.create",
  "account.disable",
  "account.enable",
  "account.end_sessions",
  "account.purge",
  "account.change_password",
  "account.change_settings",
  "account.link_identity",
  "connection.create",
  "connection.update",
  "connection.delete",
  "connection.authorize",
  "connection.accept_tool_changes",
  "connection.keep_contents",
  "connection.stop_keeping_contents",
  "oauth_client.create",
  "oauth_client.update",
  "oauth_client.rotate_secret",
  "oauth_client.revoke",
  "personal_access_token.create",
  "personal_access_token.rotate",
  "personal_access_token.revoke",
  "grant.create",
  "grant.revoke",
  "organization.create",
  "organization.rename",
  "organization.delete",
  "member.add",
  "member.change_role",
  "member.remove",
  "session.login",
  "session.logout",
  "token.issue",
  "webhook.create",
  "webhook.update",
  "webhook.enable",
  "webhook.disable",
  "webhook.rotate_secret",
  "webhook.resend",
  "webhook.delete",
  "signing_key.rotate",
  "master_key.rewrap",
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_OBJECTS = [
  "account",
  "connection",
  "oauth_client",
  "personal_access_token",
  "grant",
  "organization",
  "member",
  "session",
  "webhook",
  "signing_key",
  "master_key",
] as const;

export type AuditObject = (typeof AUDIT_OBJECTS)[number];

/** Only refused logins are recorded; other refusals change nothing. */
export const AUDIT_OUTCOMES = ["ok", "refused"] as const;

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** The log of events without an account: key operations, and logins that match no account. */
export const INSTALLATION_LOG = "installation";

/** An event before it is stored. Never contains a secret or text from a login form. */
export interface NewAuditEvent {
  /** The owner of the object, or `INSTALLATION_LOG`. */
  readonly accountId: string;
  readonly action: AuditAction;
  readonly outcome: AuditOutcome;
  readonly actor: Actor;
  readonly objectType: AuditObject;
  readonly objectId: string;
  /** The object's display name, possibly empty. */
  readonly objectName: string;
  /** Names of changed fields, never their values. */
  readonly changed: readonly string[];
}

export interface AuditEvent extends NewAuditEvent {
  /** Unique and increasing. */
  readonly id: number;
  readonly occurredAt: Date;
}

/** Undefined fields match all events. */
export interface AuditFilter {
  readonly action: AuditAction | undefined;
  readonly outcome: AuditOutcome | undefined;
  readonly objectType: AuditObject | undefined;
  readonly objectId: string | undefined;
  /** An account id or a client id. */
  readonly actor: string | undefined;
  /** Only events of this person's own actions. */
  readonly actorAccountId: string | undefined;
  /** Only events of these connections. */
  readonly connectionIds: readonly number[] | undefined;
  /** Inclusive. */
  readonly from: Date | undefined;
  /** Exclusive. */
  readonly to: Date | undefined;
}

/** The last event of a page. */
export interface AuditPosition {
  readonly occurredAt: Date;
  readonly id: number;
}

/** Records events that change no row; stores write all other events in the transaction of the change. */
export interface AuditRecorder {
  record(event: NewAuditEvent): Promise<void>;
}

/** Throws DomainError `unavailable` if the database cannot be reached. */
export interface AuditReader {
  /** Returns events before a position, newest first; of all accounts if `accountId` is undefined. */
  page(
    accountId: string | undefined,
    filter: AuditFilter,
    before: AuditPosition | undefined,
    limit: number,
  ): Promise<readonly AuditEvent[]>;
}
