import type { Adapter, AdapterPayload } from "oidc-provider";
import { InvalidClientAuth, InvalidGrant } from "oidc-provider/lib/helpers/errors.js";
import type { JsonObject, JsonValue } from "../../../json.ts";
import { SERVICE } from "../../../identity/actor.ts";
import type { OAuthGrantStore } from "../../../identity/grants/grants.ts";
import { satisfies } from "../../../identity/scopes.ts";
import type { ClientDirectory } from "../clients/client-directory.ts";
import type { RequestContext } from "./request-context.ts";
import { payloadId } from "./payload-id.ts";
import type { PayloadStore } from "../../../identity/oauth/payload-store.ts";

/** Dependencies of the provider's storage adapter. */
export interface AdapterDeps {
  readonly payloads: PayloadStore;
  readonly grants: OAuthGrantStore;
  readonly directory: ClientDirectory;
  readonly pepper: Uint8Array;
  /** Returns the current request. */
  readonly context: () => RequestContext | undefined;
  /** Replaces the secret of a client that is already authenticated. Valid only in this process. */
  readonly internalSecret: string;
}

/** The stored members of codes and refresh tokens. The token itself, its account and its session are not stored. */
const KEPT = [
  ...["iat", "exp", "clientId", "scope", "resource", "redirectUri", "codeChallenge", "codeChallengeMethod"],
  ...["gty", "iiat", "rotations", "authTime"],
] as const;

const NOTHING: Adapter = {
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  upsert: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

function isJson(value: unknown): value is JsonValue {
  return typeof value === "string" || typeof value === "number";
}

function keptMembers(payload: AdapterPayload): JsonObject {
  const kept: JsonObject = {};
  for (const name of KEPT) {
    const value: unknown = payload[name];
    if (isJson(value)) kept[name] = value;
  }
  return kept;
}

/**
 * Stores codes and refresh tokens, which are valid once. Reuse revokes the whole grant (RFC 6749 §4.1.2, RFC 9700
 * §4.14.2).
 */
function createTokenAdapter(model: "AuthorizationCode" | "RefreshToken", deps: AdapterDeps): Adapter {
  const { payloads, grants, pepper } = deps;
  const idOf = (value: string): string => payloadId(pepper, model, value);
  return {
    ...NOTHING,
    async upsert(value, payload) {
      await payloads.insert({
        model,
        id: idOf(value),
        payload: keptMembers(payload),
        grantId: payload.grantId,
        expiresAt: payload.exp === undefined ? undefined : new Date(payload.exp * 1_000),
      });
    },
    async find(value) {
      const context = deps.context();
      const stored = await payloads.find(model, idOf(value));
      if (stored?.grantId === undefined || context?.kind !== "token") return undefined;
      context.grant = await grants.findForToken(stored.grantId);
      if (context.grant === undefined) return undefined;
      const { accountId, id: grantId } = context.grant;
      return { ...stored.payload, jti: value, kind: model, accountId, grantId, consumed: stored.isConsumed };
    },
    async consume(value) {
      if (await payloads.consume(model, idOf(value))) return;
      const context = deps.context();
      const grant = context?.kind === "token" ? context.grant : undefined;
      if (grant !== undefined) await grants.revoke(grant.accountId, grant.id, SERVICE);
      throw new InvalidGrant("already used");
    },
  };
}

/** Converts our grants to the provider's, with the access that they currently give. */
function createGrantAdapter(deps: AdapterDeps): Adapter {
  return {
    ...NOTHING,
    async find(id) {
      const context = deps.context();
      if (context?.kind !== "token" || context.grant?.id !== id) return undefined;
      const { accountId, clientId, resource, scopes, isAdmin } = context.grant;
      // If the client's scopes were narrowed or the account is no longer an administrator, the token gets less than was
      // granted.
      const own = context.client.own && new Set<string>(context.client.own.scopes);
      const left = scopes.filter(
        (scope) => (own === undefined || satisfies(own, [scope])) && (scope !== "mgmt.admin" || isAdmin),
      );
      return { jti: id, kind: "Grant", accountId, clientId, resources: { [resource]: left.join(" ") } };
    },
    async destroy(id) {
      const context = deps.context();
      const grant = context?.kind === "token" ? context.grant : undefined;
      if (grant?.id === id) await deps.grants.revoke(grant.accountId, id, SERVICE);
    },
  };
}

function createClientAdapter({ directory, context, internalSecret }: AdapterDeps): Adapter {
  const basic = { token_endpoint_auth_method: "client_secret_basic", client_secret: internalSecret } as const;
  return {
    ...NOTHING,
    async find(id) {
      const current = context();
      if (current?.kind === "token" && current.client.metadata.client_id === id) {
        return { ...current.client.metadata, ...basic };
      }
      const metadata = (await directory.find(id))?.metadata;
      // The secret is compared before the provider runs, but its model requires one.
      if (metadata?.token_endpoint_auth_method === "client_secret_basic") return { ...metadata, ...basic };
      return metadata;
    },
  };
}

/** Stores the ids of used assertions until they expire, so that none is accepted twice (RFC 7523 §3). */
function createReplayAdapter({ payloads }: AdapterDeps): Adapter {
  return {
    ...NOTHING,
    async find(id) {
      return (await payloads.find("ReplayDetection", id)) && { jti: id };
    },
    async upsert(id, _payload, expiresIn = 0) {
      const expiresAt = new Date(Date.now() + expiresIn * 1_000);
      const isFirst = await payloads.insert({
        model: "ReplayDetection",
        id,
        payload: {},
        grantId: undefined,
        expiresAt,
      });
      if (!isFirst) throw new InvalidClientAuth("client assertion tokens must only be used once");
    },
  };
}

/** Maps the browser's login session to the provider's. The provider sees only its account and stores nothing. */
function createSessionAdapter({ context }: AdapterDeps): Adapter {
  return {
    ...NOTHING,
    async find(id) {
      const current = context();
      if (current?.kind !== "authorize" || current.session === undefined) return undefined;
      const { accountId, authenticatedAt } = current.session;
      return { jti: id, uid: id, kind: "Session", accountId, loginTs: Math.floor(authenticatedAt.getTime() / 1_000) };
    },
  };
}

/** Selects the storage of each of the provider's models. Models without an entry are not stored. */
export function createAdapter(model: string, deps: AdapterDeps): Adapter {
  switch (model) {
    case "AuthorizationCode":
    case "RefreshToken":
      return createTokenAdapter(model, deps);
    case "Grant":
      return createGrantAdapter(deps);
    case "Client":
      return createClientAdapter(deps);
    case "ReplayDetection":
      return createReplayAdapter(deps);
    case "Session":
      return createSessionAdapter(deps);
    default:
      return NOTHING;
  }
}
