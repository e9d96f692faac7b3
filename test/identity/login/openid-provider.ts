import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Configuration } from "oidc-provider";
import { Provider } from "oidc-provider/lib/provider.js";

/** A person at the provider, whose name is entered on its login page. */
export interface ProviderUser {
  readonly email?: string;
  readonly email_verified?: boolean;
}

/** A real OpenID provider whose login page accepts any name. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The people by subject. */
  readonly users: Map<string, ProviderUser>;
  close(): Promise<void>;
}

const INTERACTION = /^\/interaction\/([\w-]+)$/;

/** Starts a provider with one redirect URI. */
export async function startOpenIdProvider(redirectUri: string): Promise<OpenIdProvider> {
  const users = new Map<string, ProviderUser>();
  const [clientId, clientSecret] = ["patchbay", "a-secret-of-the-provider"];
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const configuration: Configuration = {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key of a test"] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub, ...users.get(sub) }) }),
    loadExistingGrant: async (ctx) => {
      const { client, session } = ctx.oidc;
      const grant = new ctx.oidc.provider.Grant({
        clientId: client?.clientId ?? "",
        accountId: session?.accountId ?? "",
      });
      grant.addOIDCScope("openid email");
      await grant.save();
      return grant;
    },
  };
  const provider = new Provider(issuer, configuration);
  const handle = provider.callback();
  server.on("request", (request, response) => {
    // The login page, with the name in the query.
    const { pathname, searchParams } = new URL(request.url ?? "", issuer);
    if (!INTERACTION.test(pathname)) {
      void handle(request, response);
      return;
    }
    const name = searchParams.get("name");
    if (name === null) response.end(`<!doctype html><title>Provider</title><form><input name="name"></form>`);
    else {
      const result = name === "" ? { error: "access_denied" } : { login: { accountId: name } };
      void provider.interactionFinished(request, response, result);
    }
  });
  return {
    issuer,
    clientId,
    clientSecret,
    users,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
