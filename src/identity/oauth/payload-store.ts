import type { JsonObject } from "../../json.ts";

/** What is remembered between requests under an id of its own kind. */
export type PayloadModel = "AuthorizationCode" | "RefreshToken" | "ReplayDetection" | "Client";

/** A payload about to be stored. */
export interface NewPayload {
  readonly model: PayloadModel;
  /** For what is presented as a secret its keyed hash. */
  readonly id: string;
  /** Nothing secret and nothing personal. */
  readonly payload: JsonObject;
  readonly grantId: string | undefined;
  /** Undefined for what does not end. */
  readonly expiresAt: Date | undefined;
}

/** A payload at rest that has not expired. */
export interface StoredPayload {
  readonly payload: JsonObject;
  readonly grantId: string | undefined;
  readonly isConsumed: boolean;
  readonly expiresAt: Date | undefined;
}

/** Where the authorization server remembers codes, refresh tokens, assertions and clients that registered themselves. */
export interface PayloadStore {
  /** False when the id is taken: of many that bring the same, one succeeds. */
  insert(payload: NewPayload): Promise<boolean>;
  find(model: PayloadModel, id: string): Promise<StoredPayload | undefined>;
  /** Uses up a payload that nobody has used: of many at once, one succeeds. */
  consume(model: PayloadModel, id: string): Promise<boolean>;
  /** Takes the end away from a payload that has one. */
  keep(model: PayloadModel, id: string): Promise<void>;
}
