import type { Origin } from "../actor.ts";

export interface LoginEvent extends Origin {
  readonly action: "login" | "logout" | "password_change" | "identity_link";
  readonly outcome: "success" | "failure";
  readonly method: "password" | "external" | "session";
  /** The account of the attempt; undefined if there is none. */
  readonly accountId: string | undefined;
  readonly sessionId: string | undefined;
}

/** Records the event before the response. Never throws, so that logging cannot fail a login. */
export type RecordLogin = (event: LoginEvent) => Promise<void>;
