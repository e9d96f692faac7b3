import type { Logger } from "pino";
import { createLastUse, type LastUse } from "../identity/tokens/last-use.ts";
import type { PersonalAccessTokenStore } from "../identity/tokens/personal-access-token.ts";

/** Records a last use when the verifier reads a personal access token: at most once a minute, token and replica. */
export function composeLastUse(
  store: PersonalAccessTokenStore,
  log: Logger,
): LastUse & { readonly findUse: PersonalAccessTokenStore["findUse"] } {
  const lastUse = createLastUse({
    store,
    onError: (error) => {
      log.warn({ err: error }, "last uses of tokens could not be written");
    },
  });
  return {
    ...lastUse,
    async findUse(accountId, id, clientId) {
      const use = await store.findUse(accountId, id, clientId);
      if (use !== undefined) lastUse.note(accountId, id);
      return use;
    },
  };
}
