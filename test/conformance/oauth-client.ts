import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { Agent } from "undici";
import type { Target } from "../../src/integrations/target.ts";
import { createMcpIntegration } from "../../src/integrations/mcp/mcp-integration.ts";
import { mcpAuthorization } from "../../src/integrations/mcp/owner-authorization.ts";
import type { IssuedTokens, UpstreamClient } from "../../src/integrations/authorization.ts";
import { authorizationRequest } from "../../src/integrations/oauth/authorization-request.ts";
import type { GrantedTokens } from "../../src/integrations/oauth/granted-tokens.ts";
import { redeemCode } from "../../src/integrations/oauth/redeem-code.ts";
import { refreshTokens } from "../../src/integrations/oauth/refresh-tokens.ts";
import type { JsonObject } from "../../src/json.ts";

/**
 * The client for `conformance client`: an owner authorizes a connection to the scenario's server, whose tools are then
 * listed and called. If more scopes are required, the owner authorizes again. The address guard is omitted, because the
 * suite's servers use loopback.
 */
const PUBLIC_URL = process.env["PUBLIC_URL"] ?? "http://localhost:3000";
const url = process.argv.at(-1) ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as JsonObject;
const dispatcher = new Agent();
const registrations = new Map<string, UpstreamClient>();
const authorization = mcpAuthorization({
  dispatcher,
  checkDestination: () => undefined,
  publicUrl: PUBLIC_URL,
  clients: {
    find: async ({ issuer }) => registrations.get(issuer),
    keep: async ({ issuer }, client) => {
      registrations.set(issuer, client);
      return client;
    },
    forget: async ({ issuer }) => void registrations.delete(issuer),
  },
});
const signal = AbortSignal.timeout(20_000);
const target: Target = {
  accountId: "1",
  connectionId: 1,
  keyVersion: 1,
  authMethod: "oauth2",
  configuration: {
    url,
    ...(typeof context["client_id"] === "string" && { oauth_client_id: context["client_id"] }),
    ...(typeof context["client_secret"] === "string" && { oauth_client_secret: context["client_secret"] }),
  },
};

/** Acts as the owner's browser. The suite's login page redirects back immediately. */
async function authorize(scope: string | undefined): Promise<() => Promise<IssuedTokens>> {
  const terms = await authorization.terms(target, scope, signal);
  const random = (): string => randomBytes(32).toString("base64url");
  const proof = { redirectUri: PUBLIC_URL + terms.callbackPath, state: random(), codeVerifier: random() };
  const { headers } = await fetch(authorizationRequest(terms, proof), { redirect: "manual" });
  const back = new URL(headers.get("location") ?? "");
  issued = await redeemCode(terms, back.searchParams, proof, dispatcher, signal);
  return async () => refreshTokens(terms, issued?.refreshToken ?? "", dispatcher, signal);
}

let issued: IssuedTokens | undefined;
let wanted: string | undefined;
let refresh = await authorize(undefined);
const tokens: GrantedTokens = {
  current: () => issued?.accessToken ?? "",
  renewed: async () => {
    // If the tokens cannot be renewed, the owner authorizes the connection again.
    issued = await refresh().catch(async () => {
      refresh = await authorize(undefined);
      return issued;
    });
    return issued?.accessToken ?? "";
  },
  extend: async (_target, scope) => {
    wanted = scope;
  },
  forget: () => undefined,
};
const integration = createMcpIntegration({
  dispatcher,
  checkDestination: () => undefined,
  log: pino({ level: "silent" }),
  authorization,
  tokens,
});

async function work(): Promise<void> {
  wanted = undefined;
  const tools = await integration.listTools(target, { signal });
  for (const tool of tools) console.log(JSON.stringify(await integration.callTool(target, tool, {}, { signal })));
}

await work().catch((error: unknown) => console.error(String(error)));
if (wanted !== undefined) {
  refresh = await authorize(wanted);
  await work();
}
integration.close();
await dispatcher.destroy();
