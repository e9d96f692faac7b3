import { DomainError } from "../domain-error.ts";
import { printInKeyOrder } from "../json.ts";
import type { AuthorizationAddress } from "./authorization-address.ts";
import type { ConnectionDraft } from "./connection.ts";
import { type Connection, type ConnectionStatus, connectionStatus } from "./connection.ts";

/** Lifetime of an idempotency key, in seconds. */
export const KEY_LIFETIME_SECONDS = 86_400;

/** An idempotency key and the text of its request. */
export interface CreateKey {
  readonly key: string;
  /** Equal for equal requests over all protocols. It may contain secrets, so only its keyed hash is stored. */
  readonly request: string;
}

/** The response to a create and to its repetitions, without secrets. */
export interface CreatedConnection extends Pick<Connection, "id" | "serverType" | "name" | "createdAt"> {
  readonly status: ConnectionStatus;
  /** A new authorization address for each response while the connection exists. */
  readonly authorization?: AuthorizationAddress | undefined;
  /** Whether an earlier request with the same key created the connection. */
  readonly isRepeated: boolean;
}

/** Each member of an organization has keys of their own. */
export function createKey(
  key: string | undefined,
  draft: ConnectionDraft,
  memberId: string | undefined,
): CreateKey | undefined {
  if (key === undefined) return undefined;
  return { key: memberId === undefined ? key : `${memberId} ${key}`, request: printInKeyOrder(draft) };
}

export function toCreated(connection: Connection): CreatedConnection {
  const { id, serverType, name, createdAt } = connection;
  return { id, serverType, name, createdAt, status: connectionStatus(connection), isRepeated: false };
}

/** The error for a key that another request used. */
export function keyReused(): DomainError {
  return new DomainError(
    "conflict",
    "This Idempotency-Key was used for another request within the last 24 hours; use a new key for a new request.",
    { reason: "IDEMPOTENCY_KEY_REUSED" },
  );
}
