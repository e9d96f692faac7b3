import type { Actor } from "../actor.ts";

/** The closed list of what the audit log tells of: an object, a dot, what was done to it. */
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
  "session.login",
  "session.logout",
  "token.issue",
  "signing_key.rotate",
  "master_key.rewrap",
] as const;

/** One of them. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The kinds of objects that the audit log tells of. */
export const AUDIT_OBJECTS = [
  "account",
  "connection",
  "oauth_client",
  "personal_access_token",
  "grant",
  "session",
  "signing_key",
  "master_key",
] as const;

/** One of them. */
export type AuditObject = (typeof AUDIT_OBJECTS)[number];

/** Whether it was done. Refusals are kept of sign-ins alone: elsewhere nothing happened. */
export const AUDIT_OUTCOMES = ["ok", "refused"] as const;

/** One of them. */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

/** The log of what concerns the installation and no account: its keys, and sign-ins that named nobody. */
export const INSTALLATION_LOG = "installation";

/** Something that happened, to be written down. Never holds a secret, nor what a person typed into a field of a login form. */
export interface NewAuditEvent {
  /** Whose log it is: the owner of the object, or `INSTALLATION_LOG`. */
  readonly accountId: string;
  readonly action: AuditAction;
  readonly outcome: AuditOutcome;
  readonly actor: Actor;
  readonly objectType: AuditObject;
  readonly objectId: string;
  /** What people call the object; empty where it has no name. */
  readonly objectName: string;
  /** The names of the fields that changed, never their values. */
  readonly changed: readonly string[];
}

/** An event at rest. */
export interface AuditEvent extends NewAuditEvent {
  /** Unique; of two events the later has the higher one. */
  readonly id: number;
  readonly occurredAt: Date;
}

/** Which events are meant. What is undefined narrows nothing. */
export interface AuditFilter {
  readonly action: AuditAction | undefined;
  readonly outcome: AuditOutcome | undefined;
  readonly objectType: AuditObject | undefined;
  readonly objectId: string | undefined;
  /** An account id or a client id. */
  readonly actor: string | undefined;
  /** Only what happened to one of these connections. */
  readonly connectionIds: readonly number[] | undefined;
  /** The first moment that counts. */
  readonly from: Date | undefined;
  /** The first moment that counts no more. */
  readonly to: Date | undefined;
}

/** Where in the log a page ended. */
export interface AuditPosition {
  readonly occurredAt: Date;
  readonly id: number;
}

/** Writes down what is not a change of a row of ours. Changes are written with the row, by its store. */
export interface AuditRecorder {
  record(event: NewAuditEvent): Promise<void>;
}

/** The audit log to read. Throws DomainError `unavailable` when the database cannot be reached. */
export interface AuditReader {
  /** Events before a position, or the newest, newest first; of every account when none is named. */
  page(
    accountId: string | undefined,
    filter: AuditFilter,
    before: AuditPosition | undefined,
    limit: number,
  ): Promise<readonly AuditEvent[]>;
}
