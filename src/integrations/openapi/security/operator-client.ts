import type { Dispatcher } from "undici";
import { invalid } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import type { ClientAuthorization } from "../../integration.ts";
import type { Target } from "../../target.ts";
import { createAccessTokens, type AccessTokenSource } from "../../oauth/access-tokens.ts";
import { clientCredentialsSource } from "../../oauth/client-credentials.ts";
import { TokenFailure } from "../../oauth/token-failure.ts";
import type { OwnerTokens } from "../requests/call-context.ts";
import type { ServerPlan } from "../model/operation.ts";
import type { ClientScheme } from "./owner-scheme.ts";
import { isOtherAddress, serverAddress, tokenAddress } from "../requests/server-address.ts";

/** The client that the operator registered with the vendor. */
export interface OperatorClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface OperatorAuthorization {
  readonly authorization: ClientAuthorization;
  /** Cached in memory per connection. */
  readonly tokens: OwnerTokens;
}

interface Subject {
  readonly title: string;
  readonly scheme: ClientScheme;
  /** The only server that may receive the tokens. */
  readonly server: ServerPlan;
}

const ADVICE = "This installation's own client was rejected: ask its operator, or set an api_key.";

/**
 * Authorizes connections of every account with the client credentials grant. The secret is sent only to the
 * contract's token endpoint; a connection to another address gets no token.
 */
export function operatorAuthorization(
  { title, scheme, server }: Subject,
  client: OperatorClient,
  { dispatcher, baseUrl }: { readonly dispatcher: Dispatcher; readonly baseUrl: string | undefined },
): OperatorAuthorization {
  const tokens = createAccessTokens();
  const scope = scheme.scopes.length === 0 ? undefined : scheme.scopes.join(" ");
  const hasOtherAddress = (configuration: JsonObject): boolean =>
    isOtherAddress(server, configuration) || isOtherAddress(scheme.token, configuration);

  function sourceOf({ configuration }: Target, origin: string): AccessTokenSource {
    if (hasOtherAddress(configuration) || serverAddress(server, configuration, baseUrl).origin !== origin)
      throw new TokenFailure("other", otherAddressMessage(title));
    const tokenUrl = tokenAddress(scheme.token, configuration, baseUrl);
    const { authentication } = scheme;
    const meaning = () => ({ kind: "refused", advice: ADVICE }) as const;
    return clientCredentialsSource({ ...client, title, tokenUrl, scope, authentication, meaning }, dispatcher);
  }

  return {
    authorization: {
      checkDestination(configuration) {
        if (hasOtherAddress(configuration)) throw invalid("configuration", otherAddressMessage(title));
        tokenAddress(scheme.token, configuration);
      },
    },
    tokens: {
      current: (target, origin, signal) => tokens.current(target, sourceOf(target, origin), signal),
      renewed: async (target, origin, refused, signal) =>
        tokens.renewed(target, sourceOf(target, origin), refused, signal),
      forget: (connectionId) => {
        tokens.forget(connectionId);
      },
    },
  };
}

function otherAddressMessage(title: string): string {
  return (
    `${title} is reached by OAuth at its own address alone, where this installation is registered: a connection to another ` +
    "one needs a key. Leave the address out of the configuration, or set an api_key."
  );
}
