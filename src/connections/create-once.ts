import { DomainError } from "../domain-error.ts";
import { printInKeyOrder } from "../json.ts";
import type { AuthorizationAddress } from "./authorization-address.ts";
import type { ConnectionDraft } from "./connection.ts";
import { type Connection, type ConnectionStatus, connectionStatus } from "./connection.ts";

/** For how long a key stands for what was created under it, in seconds: a day. */
export const KEY_LIFETIME_SECONDS = 86_400;

/** A request to create that a caller may send again: the key it came under, and all that it asks for as one text. */
export interface CreateKey {
  readonly key: string;
  /** The same for the same request, over whichever protocol it came. It may hold secrets, so it is kept as a keyed hash. */
  readonly request: string;
}

/** What a create answers, the first time and again; no secret among it. */
export interface CreatedConnection extends Pick<Connection, "id" | "serverType" | "name" | "createdAt"> {
  readonly status: ConnectionStatus;
  /** Where its owner authorises it: a new address each time, for as long as the connection is there. */
  readonly authorization?: AuthorizationAddress | undefined;
  /** Whether an earlier request under the same key made it. */
  readonly isRepeated: boolean;
}

/** The key of a create, if it came with one. */
export function createKey(key: string | undefined, draft: ConnectionDraft): CreateKey | undefined {
  return key === undefined ? undefined : { key, request: printInKeyOrder(draft) };
}

/** What the create of a connection answers. */
export function toCreated(connection: Connection): CreatedConnection {
  const { id, serverType, name, createdAt } = connection;
  return { id, serverType, name, createdAt, status: connectionStatus(connection), isRepeated: false };
}

/** A key that stands for another request: whoever sends it again believes to repeat what they do not. */
export function keyReused(): DomainError {
  return new DomainError(
    "conflict",
    "This Idempotency-Key was used for another request within the last 24 hours; send a new request under a key of its own.",
    { reason: "IDEMPOTENCY_KEY_REUSED" },
  );
}
