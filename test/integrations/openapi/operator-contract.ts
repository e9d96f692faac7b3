import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Dispatcher } from "undici";
import { loadCatalog } from "../../../src/integrations/catalog/load-catalog.ts";
import type { Integration } from "../../../src/integrations/integration.ts";
import type { JsonObject } from "../../../src/json.ts";
import { startVendor, type Vendor } from "../../support/vendor.ts";
import { contractText } from "./subject.ts";

/** The operator's client at the vendor. Its secret contains braces, which must not be filled like a template. */
export const OPERATOR_CLIENT = { clientId: "patchbay-itself", clientSecret: "canary-{api_token}:of+the%operator" };

/** A contract with a key, and with OAuth client credentials as an alternative. */
export function operatorContract(scheme: JsonObject = {}, more: JsonObject = {}): string {
  return contractText(
    {},
    {
      components: {
        securitySchemes: {
          key: { type: "http", scheme: "basic", "x-patchbay-credential": { password: "x" } },
          itself: {
            type: "oauth2",
            flows: {
              clientCredentials: {
                tokenUrl: "https://login.example.com/{site}/token",
                scopes: { "people.read": "", "people.write": "" },
              },
            },
            "x-patchbay-authorization": { authentication: "post" },
            ...scheme,
          },
        },
      },
      ...more,
    },
  );
}

/** The requests that the vendor's API received. */
export interface SeenCall {
  readonly authorization: string | undefined;
  /** The client of the token; undefined for an invalid token. */
  readonly subject: string | undefined;
}

/**
 * A vendor at which the operator's client is registered, with its API: `/v2/me` accepts its tokens, and the key `key`.
 */
export async function startOperatorVendor(): Promise<{ readonly vendor: Vendor; readonly called: SeenCall[] }> {
  const vendor = await startVendor({
    registration: [],
    scopes: ["people.read", "people.write"],
    routes: { authorization: "/authorize", token: "/blue/token" },
    clients: [
      {
        client_id: OPERATOR_CLIENT.clientId,
        client_secret: OPERATOR_CLIENT.clientSecret,
        redirect_uris: [],
        response_types: [],
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post",
      },
    ],
  });
  const called: SeenCall[] = [];
  vendor.serve = async (request, response) => {
    const { authorization } = request.headers;
    const isKey = authorization === `Basic ${Buffer.from("the-key:x").toString("base64")}`;
    const found = await vendor.inspect(authorization?.replace(/^Bearer /, "") ?? "", vendor.origin);
    const subject = isKey ? "key" : found?.subject;
    called.push({ authorization, subject });
    response.writeHead(subject === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ you: subject, scope: found?.scope, sent: authorization }));
  };
  return { vendor, called };
}

/** The integration `acme` of a catalog with this contract, loaded like in the service. */
export async function loadOperatorIntegration(
  text: string,
  dispatcher: Dispatcher,
  {
    baseUrl,
    client = OPERATOR_CLIENT,
  }: { readonly baseUrl?: string; readonly client?: typeof OPERATOR_CLIENT | "none" },
): Promise<Integration> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-operator-"));
  try {
    await writeFile(join(folder, "acme.yaml"), text);
    const catalog = await loadCatalog({
      folder,
      dispatcher,
      baseUrls: new Map(baseUrl === undefined ? [] : [["acme", baseUrl]]),
      oauthClients: new Map(client === "none" ? [] : [["acme", client]]),
      others: [],
    });
    const integration = catalog.get("acme");
    if (integration === undefined) throw new Error("acme is missing");
    return integration;
  } finally {
    await rm(folder, { recursive: true });
  }
}
