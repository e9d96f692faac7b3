import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

export const CLIENT_ID = "acme client/1";
/** Contains every character that must be encoded. */
export const CLIENT_SECRET = "s3cr/et+of%the:client&=0123456789";

/** A request to the token endpoint. */
export interface TokenRequest {
  readonly authorization: string | undefined;
  readonly body: string;
}

/** An authorization server with one client, and an API that accepts only its tokens. */
export interface AuthorizationServer {
  readonly url: string;
  readonly tokenRequests: TokenRequest[];
  /** Paths of the API that were called with a valid token, and the token. */
  readonly served: { readonly method: string; readonly path: string; readonly token: string; readonly scope: string }[];
  /** Rejected calls of the API. */
  refused: number;
  /** Answers in place of the authorization server while it is set. */
  answerToken: ((response: ServerResponse) => void) | undefined;
  /** Revokes all tokens issued so far. */
  revokeAll(): void;
  close(): Promise<void>;
}

/** Starts oidc-provider at /oauth/token and an API at /api. */
export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
        scope: "read write",
      },
    ],
    scopes: ["read", "write"],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    routes: { token: "/oauth/token" },
    ttl: { ClientCredentials: 3_600 },
  });
  const handle = provider.callback();
  let revoked = new Set<string>();
  const given = new Set<string>();
  const self: AuthorizationServer = {
    url,
    tokenRequests: [],
    served: [],
    refused: 0,
    answerToken: undefined,
    revokeAll: () => (revoked = new Set(given)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (!path.startsWith("/oauth/token")) return serve(request, response, path);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    self.tokenRequests.push({ authorization: request.headers.authorization, body });
    if (self.answerToken !== undefined) {
      self.answerToken(response);
      return;
    }
    // Passes the parsed body on in the property that the provider's body parser reads.
    await handle(Object.assign(request, { body: Object.fromEntries(new URLSearchParams(body)) }), response);
  }

  async function serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    request.resume();
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const found = await provider.ClientCredentials.find(token);
    if (found !== undefined) given.add(token);
    const isGood = found?.isValid === true && !revoked.has(token);
    if (!isGood) self.refused += 1;
    else self.served.push({ method: request.method ?? "", path, token, scope: found.scope ?? "" });
    response.writeHead(isGood ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify(isGood ? { echo: request.headers.authorization } : { message: "token unknown" }));
  }
  return self;
}
