import type { JsonObject } from "../../json.ts";
import type { OwnerAuthorization } from "../authorization.ts";
import { type ClientDeps, resolveClient, type ConfiguredClient } from "../oauth/resolve-client.ts";
import { callbackPathOf } from "../oauth/client-document.ts";
import { type Discovered, discoverServer } from "../oauth/discover-server.ts";
import { TokenFailure } from "../oauth/token-failure.ts";
import { fetchChallenge } from "./fetch-challenge.ts";

/** OpenID's scope for refresh tokens requires `prompt=consent` (OpenID Connect Core §11). */
const OFFLINE = "offline_access";

/** MCP «Authorization». */
export function mcpAuthorization(deps: ClientDeps): OwnerAuthorization {
  async function discover(configuration: JsonObject, signal: AbortSignal): Promise<Discovered> {
    const challenge = await fetchChallenge(configuration, deps, signal);
    return discoverServer(urlOf(configuration), challenge, deps, signal);
  }

  return {
    dispatcher: deps.dispatcher,
    async terms({ configuration }, wanted, signal) {
      const found = await discover(configuration, signal);
      const { origin, host } = urlOf(configuration);
      const scope = scopeOf(text(configuration["oauth_scope"]) ?? found.scope, wanted, found.scopes);
      const client = await resolveClient(found, configuredClient(configuration), scope, deps, signal);
      const extra: Record<string, string> = scope?.split(" ").includes(OFFLINE) === true ? { prompt: "consent" } : {};
      return {
        title: `MCP server ${host}`,
        server: found.server,
        client,
        callbackPath: callbackPathOf(found.server.issuer),
        resource: found.resource,
        scope,
        extra,
        audience: origin,
      };
    },
    async isAvailable({ configuration }, signal) {
      try {
        await discover(configuration, signal);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof TokenFailure) return false;
        throw error;
      }
    },
  };
}

/**
 * Combines the usual scopes with those that a rejected call asked for. Adds the scope for refresh tokens where
 * supported, unless no scope is named: then the server applies its default.
 */
function scopeOf(
  usual: string | undefined,
  wanted: string | undefined,
  supported: readonly string[] | undefined,
): string | undefined {
  const words = new Set([usual, wanted].flatMap((each) => each?.split(" ") ?? []).filter((word) => word !== ""));
  if (words.size === 0) return undefined;
  if (supported?.includes(OFFLINE) === true) words.add(OFFLINE);
  return [...words].join(" ");
}

function configuredClient({
  oauth_client_id: id,
  oauth_client_secret: secret,
}: JsonObject): ConfiguredClient | undefined {
  const clientId = text(id);
  return clientId === undefined ? undefined : { clientId, clientSecret: text(secret) };
}

function urlOf({ url }: JsonObject): URL {
  return new URL(typeof url === "string" ? url : "");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
