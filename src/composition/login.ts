import { createCookies } from "../auth/login/cookies.ts";
import { createCsrf, type Csrf } from "../auth/login/csrf.ts";
import { createLoginSessions, type LoginSessions } from "../auth/login/login-sessions.ts";
import type { Config } from "../config.ts";
import { createLoginSessionStore } from "../storage/stores/login-session.ts";
import type { Foundation } from "./foundation.ts";

/** How people log in, and what tells their browsers apart. */
export interface Login {
  readonly sessions: LoginSessions;
  readonly csrf: Csrf;
}

/** Builds what logging in is made of. */
export function composeLogin(config: Config, { database, pepper }: Foundation): Login {
  const cookies = createCookies(config.publicUrl);
  return {
    sessions: createLoginSessions({ store: createLoginSessionStore(database.pool), cookies, pepper }),
    csrf: createCsrf({ publicUrl: config.publicUrl, pepper }),
  };
}
