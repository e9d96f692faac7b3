import { type Origin, toOrigin } from "../actor.ts";
import type { HttpRequest } from "../../transport/http/node-exchange.ts";
import { callerAddress } from "../../transport/http/peer.ts";

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

/** Where a request comes from, for the record. */
export function originOf(request: HttpRequest, trustProxy: boolean): Origin {
  return toOrigin(callerAddress(request, trustProxy), request.headers["user-agent"]);
}
