/** Somebody logged in or out, or tried to. */
export interface LoginEvent {
  readonly action: "login" | "logout" | "password_change" | "identity_link";
  readonly outcome: "success" | "failure";
  readonly method: "password" | "external" | "session";
  /** Undefined when nobody is known to have tried. */
  readonly accountId: string | undefined;
  readonly sessionId: string | undefined;
  /** The caller's address. */
  readonly address: string;
  /** As the browser calls itself, at most 256 characters. */
  readonly userAgent: string;
}

/** Keeps what happened. It never fails a login: a failure to keep is its own to report. */
export type RecordLogin = (event: LoginEvent) => void;
