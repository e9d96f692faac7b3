import type { Dispatcher } from "undici";
import type { OwnerAuthorization } from "../../authorization.ts";
import { CALLBACK_PATH } from "../../oauth/client-document.ts";
import type { ConfiguredClient } from "../../oauth/resolve-client.ts";
import { TokenFailure } from "../../oauth/token-failure.ts";
import type { ServerPlan } from "../model/operation.ts";
import type { OwnerScheme } from "./owner-scheme.ts";
import { isOtherAddress, serverAddress, tokenAddress } from "../requests/server-address.ts";

export interface OwnerAuthorizationDeps {
  readonly dispatcher: Dispatcher;
  /** Replaces the server's address, for test servers. */
  readonly baseUrl: string | undefined;
  readonly client: ConfiguredClient;
}

interface Subject {
  readonly title: string;
  readonly scheme: OwnerScheme;
  /** The only server that may receive the tokens. */
  readonly server: ServerPlan;
}

/** Owner authorization for contracts with a login and a registered client. */
export function contractAuthorization(
  { title, scheme, server }: Subject,
  { dispatcher, baseUrl, client }: OwnerAuthorizationDeps,
): OwnerAuthorization {
  const authentication = client.clientSecret === undefined ? "none" : scheme.authentication;
  return {
    dispatcher,
    async terms({ configuration }, wanted) {
      if (isOtherAddress(server, configuration))
        throw new TokenFailure(
          "refused",
          `${title} can be authorized at its own address alone, where this installation is registered: a connection to ` +
            "another one needs a key. Leave the address out of the configuration, or set an api_key.",
        );
      const addressOf = (plan: ServerPlan): string => tokenAddress(plan, configuration, baseUrl);
      const authorizationEndpoint = addressOf(scheme.authorization);
      const scopes = new Set([...scheme.scopes, ...(wanted?.split(" ") ?? [])].filter((word) => word !== ""));
      return {
        title,
        server: {
          issuer: new URL(authorizationEndpoint).origin,
          authorizationEndpoint,
          tokenEndpoint: addressOf(scheme.token),
          revocationEndpoint: scheme.revocation === undefined ? undefined : addressOf(scheme.revocation),
          sendsIssuer: false,
        },
        client: { ...client, authentication, source: "configured" },
        callbackPath: CALLBACK_PATH,
        resource: undefined,
        scope: scopes.size === 0 ? undefined : [...scopes].join(" "),
        extra: scheme.parameters,
        audience: serverAddress(server, configuration, baseUrl).origin,
      };
    },
    isAvailable: async () => true,
  };
}
