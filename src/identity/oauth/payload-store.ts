import type { JsonObject } from "../../json.ts";

export type PayloadModel = "AuthorizationCode" | "RefreshToken" | "ReplayDetection" | "Client";

export interface NewPayload {
  readonly model: PayloadModel;
  /** A keyed hash for values that are secrets. */
  readonly id: string;
  /** Contains no secrets and no personal data. */
  readonly payload: JsonObject;
  readonly grantId: string | undefined;
  /** Undefined for a payload that never expires. */
  readonly expiresAt: Date | undefined;
}

/** A payload that has not expired. */
export interface StoredPayload {
  readonly payload: JsonObject;
  readonly grantId: string | undefined;
  readonly isConsumed: boolean;
  readonly expiresAt: Date | undefined;
}

/** Stores the authorization server's codes, refresh tokens, assertion ids and registered clients. */
export interface PayloadStore {
  /** Returns false if the id is taken: only one of several concurrent inserts succeeds. */
  insert(payload: NewPayload): Promise<boolean>;
  find(model: PayloadModel, id: string): Promise<StoredPayload | undefined>;
  /** Marks a payload as used. Only one of several concurrent calls succeeds. */
  consume(model: PayloadModel, id: string): Promise<boolean>;
  /** Removes the expiry of a payload. */
  keep(model: PayloadModel, id: string): Promise<void>;
}
