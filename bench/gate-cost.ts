import { SignJWT, importJWK } from "jose";
import { createRevocations } from "../src/identity/revocations/revocations.ts";
import { loadSigningKeys, type NewSigningKey, type SigningKeys } from "../src/identity/keys/signing-keys.ts";
import { createTokenVerifier } from "../src/identity/tokens/verifier.ts";
import type { Access } from "../src/transport/gate/gate.ts";
import { createFailureLimit, FAILURE_LIMITS } from "../src/transport/gate/failure-limit.ts";
import { createGate } from "../src/transport/gate/gate.ts";
import { createRates, RATE_LIMITS } from "../src/transport/gate/rates.ts";
import type { HttpExchange } from "../src/transport/http/exchange.ts";
import { median } from "./load/percentile.ts";

/** CPU time of the gate per request, in microseconds. */
export interface GateCost {
  /** A token already used on the connection. */
  readonly knownTokenUs: number;
  /** A cached token on another connection, whose header is hashed again. */
  readonly otherConnectionUs: number;
}

const ISSUER = "http://127.0.0.1";
const ROUNDS = 5;
const REQUESTS = 300_000;
const ACCESS: Access = {
  isPublic: false,
  requiredScopes: ["mgmt.read"],
  audiences: [ISSUER],
  texts: { forbidden: "" },
};

/**
 * Measures the gate as the service uses it (digest, token cache, revocations, rate limit and its headers), compared
 * with a public operation, which bypasses it. Runs in a loop, because whole requests vary by more than the difference.
 */
export async function measureGate(): Promise<GateCost> {
  const keys = await loadSigningKeys(keysInMemory());
  const nothing = { listen: () => Promise.resolve(), onReconnect: () => undefined, isHealthy: () => true };
  const store = { listInForce: () => Promise.resolve([]), listFor: () => Promise.resolve([]) };
  const revocations = createRevocations({ store, listener: nothing });
  await revocations.start();
  const unused = { findUse: () => Promise.resolve(undefined), findReach: () => Promise.resolve(undefined) };
  const verifier = createTokenVerifier({
    issuer: ISSUER,
    keys,
    revocations,
    personalAccessTokens: unused,
    grants: unused,
    memberships: { find: () => undefined },
  });
  const clientAddress = (): string => "127.0.0.1";
  const rates = createRates({ ...RATE_LIMITS, account: 999_999_999 }, clientAddress);
  const gate = createGate({ verifier, failureLimit: createFailureLimit(FAILURE_LIMITS), rates, clientAddress });
  const headers = { authorization: `Bearer ${await sign(keys)}` };
  const isPublic = { ...ACCESS, isPublic: true };
  const sameConnection = {};
  const request = (connection: object): HttpExchange => exchangeWith(headers, connection);
  await gate(ACCESS, request(sameConnection));

  const timeOf = (access: Access, connectionOf: () => object): number => {
    const before = process.cpuUsage();
    for (let count = 0; count < REQUESTS; count += 1) void gate(access, request(connectionOf()));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / REQUESTS;
  };
  const costOf = (connectionOf: () => object): number => {
    const costs = Array.from({ length: ROUNDS }, () => timeOf(ACCESS, connectionOf) - timeOf(isPublic, connectionOf));
    return median(costs);
  };
  const knownTokenUs = costOf(() => sameConnection);
  const otherConnectionUs = costOf(() => ({}));
  revocations.close();
  return { knownTokenUs, otherConnectionUs };
}

function keysInMemory(): Parameters<typeof loadSigningKeys>[0] {
  const stored: Awaited<ReturnType<Parameters<typeof loadSigningKeys>[0]["list"]>>[number][] = [];
  const keep = (key: NewSigningKey, state: "next" | "current"): void => {
    const now = new Date();
    stored.push({ ...key, state, createdAt: now, readyAt: now, currentSince: now, retiredAt: undefined });
  };
  return {
    list: () => Promise.resolve([...stored]),
    insertFirst: (current, next) => {
      keep(current, "current");
      keep(next, "next");
      return Promise.resolve();
    },
    insertNext: () => Promise.resolve(),
  };
}

async function sign(keys: SigningKeys): Promise<string> {
  const { id, privateJwk } = keys.current("access_token");
  const scopes = ["mgmt.read", "mgmt.write"];
  return new SignJWT({ client_id: "client", token_use: "access", token_type: "oauth", scopes, scope: scopes.join(" ") })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: id })
    .setIssuer(ISSUER)
    .setAudience(ISSUER)
    .setSubject("account")
    .setJti("0193b3a0-0000-7000-8000-000000000000")
    .setIssuedAt()
    .setExpirationTime("1h")
    .sign(await importJWK(privateJwk, "ES256"));
}

/** The parts of an exchange that the gate uses. */
function exchangeWith(headers: HttpExchange["headers"], connection: object): HttpExchange {
  return { headers, connection, alwaysSend: undefined } as unknown as HttpExchange;
}
