import type { Origin } from "../actor.ts";

/** Somebody logged in or out, or tried to. */
export interface LoginEvent extends Origin {
  readonly action: "login" | "logout" | "password_change" | "identity_link";
  readonly outcome: "success" | "failure";
  readonly method: "password" | "external" | "session";
  /** The account that is meant; undefined when there is none. */
  readonly accountId: string | undefined;
  /** The login session of who is logged in. */
  readonly sessionId: string | undefined;
}

/** Keeps what happened, before it is answered. It never fails a login: a failure to keep is its own to report. */
export type RecordLogin = (event: LoginEvent) => Promise<void>;
