import { createHmac, generateKeyPairSync, randomBytes } from "node:crypto";
import { decodeJwt, exportJWK, generateKeyPair, importJWK, type JWTHeaderParameters, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Account } from "../../src/identity/account.ts";
import type { CreatedClient } from "../../src/identity/clients/clients.ts";
import type { KeyPurpose } from "../../src/identity/keys/signing-keys.ts";
import { accessTokenId } from "../../src/identity/token-id.ts";
import { DomainError } from "../../src/domain-error.ts";
import { type Installation, type Replica, startInstallation } from "../transport/oauth/installation.ts";

let installation: Installation;
let replica: Replica;
let account: Account;
let client: CreatedClient;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica();
  account = await installation.newAccount();
  client = await installation.clients.create(account, "mgmt.read mgmt.write");
});
afterAll(async () => {
  await replica.close();
  await installation.close();
});

/** Forged claims of any type, or missing. */
type Claims = Record<string, unknown>;

const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

/** A valid token with the given changes. */
async function forge(
  change: Claims = {},
  header: Partial<JWTHeaderParameters> = {},
  purpose: KeyPurpose = "access_token",
): Promise<string> {
  const key = installation.keys.current(purpose);
  const claims: Claims = {
    iss: installation.issuer,
    aud: installation.issuer,
    sub: account.id,
    client_id: client.clientId,
    scopes: ["mgmt.read"],
    scope: "mgmt.read",
    token_use: "access",
    token_type: "oauth",
    iat: nowSeconds(),
    exp: nowSeconds() + 600,
    jti: accessTokenId(Date.now() * 1_000),
    ...change,
  };
  return new SignJWT(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)))
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: key.id, ...header })
    .sign(await importJWK(key.privateJwk, "ES256"));
}

async function verify(authorization: string | undefined, audiences = [installation.issuer]) {
  return replica.verifier.verify(authorization, audiences);
}

async function refusal(authorization: string | undefined, audiences?: string[]): Promise<string> {
  try {
    await verify(authorization, audiences);
  } catch (error) {
    if (error instanceof DomainError && error.kind === "unauthenticated") return error.message;
    throw error;
  }
  return "accepted";
}

test("a token of the token endpoint yields its principal", async () => {
  const token = await installation.token(client, { scope: "mgmt.read" });
  const principal = await verify(`Bearer ${token}`);
  expect(principal).toMatchObject({
    accountId: account.id,
    clientId: client.clientId,
    connectionId: undefined,
    audience: installation.issuer,
  });
  expect([...principal.scopes]).toEqual(["mgmt.read"]);
  expect(principal.expiresAt).toBe(principal.issuedAt + 3600);
});

test("a cached token is verified synchronously", async () => {
  const header = `Bearer ${await installation.token(client)}`;
  const first = await verify(header);
  // Waits for the listener; before that the database is queried.
  await vi.waitFor(() => expect(replica.verifier.verify(header, [installation.issuer])).toBe(first), {
    timeout: 5_000,
  });
});

test("accepts the scheme in any case", async () => {
  const token = await installation.token(client);
  expect(await refusal(`bearer ${token}`)).toBe("accepted");
});

test("distinguishes missing credentials from invalid ones", async () => {
  const token = await installation.token(client);
  for (const nothing of [
    undefined,
    "",
    token,
    `Basic ${token}`,
    "Bearer",
    "Bearer ",
    `Bearer\t${token}`,
    `Token ${"x".repeat(9_000)}`,
  ])
    expect(await refusal(nothing)).toBe("Authentication credentials were not provided.");
});

describe("rejects an Authorization header that is not a bearer token", () => {
  const cases: Readonly<Record<string, (token: string) => string>> = {
    "two spaces": (token) => `Bearer  ${token}`,
    "a space at the end": (token) => `Bearer ${token} `,
    "a line break at the end": (token) => `Bearer ${token}\n`,
    "two tokens": (token) => `Bearer ${token}, Bearer ${token}`,
    "padding at the end": (token) => `Bearer ${token}==`,
    "one padding character": (token) => `Bearer ${token}=`,
    "a fourth part": (token) => `Bearer ${token}.e30`,
    "a token cut short": (token) => `Bearer ${token.slice(0, -8)}`,
    "a token without its signature": (token) => `Bearer ${token.split(".").slice(0, 2).join(".")}.`,
    "a changed payload under the same signature": (token) => {
      const [header, , signature] = token.split(".");
      const claims = { ...decodeJwt(token), scopes: ["mgmt.admin"] };
      return `Bearer ${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
    },
    "plus and slash in place of minus and underscore": (token) =>
      `Bearer ${token.replaceAll("-", "+").replaceAll("_", "/")}`,
    "more than 8 KiB": () => `Bearer ${"a".repeat(4_000)}.${"b".repeat(4_000)}.${"c".repeat(1_000)}`,
    "no JSON inside": () => "Bearer YQ.YQ.YQ",
    "a NUL": (token) => `Bearer ${token}\0`,
  };
  for (const [title, authorization] of Object.entries(cases)) {
    test(title, async () => {
      const token = await installation.token(client);
      await verify(`Bearer ${token}`);
      const changed = authorization(token);
      // Some cases do not change every token, such as the replacement of - and _ in a token without them.
      if (changed !== `Bearer ${token}`) expect(await refusal(changed)).toBe("Invalid or expired token.");
    });
  }
});

describe("rejects an unexpected claim although the signature is valid", () => {
  const cases: Readonly<Record<string, () => Claims>> = {
    expired: () => ({ exp: nowSeconds() - 1 }),
    "expiring now": () => ({ exp: nowSeconds() }),
    "no end": () => ({ exp: undefined }),
    "an end that is no whole number": () => ({ exp: nowSeconds() + 600.5 }),
    "issued in the future": () => ({ iat: nowSeconds() + 60 }),
    "no time of issue": () => ({ iat: undefined }),
    "not valid before later": () => ({ nbf: nowSeconds() + 60 }),
    "a foreign issuer": () => ({ iss: "https://elsewhere.example" }),
    "no issuer": () => ({ iss: undefined }),
    "another audience": () => ({ aud: "https://elsewhere.example" }),
    "several audiences": () => ({ aud: [installation.issuer, "https://elsewhere.example"] }),
    "no audience": () => ({ aud: undefined }),
    "another use": () => ({ token_use: "id" }),
    "no use": () => ({ token_use: undefined }),
    "the type of a personal access token": () => ({ token_type: "pat" }),
    "scopes as a string": () => ({ scopes: "mgmt.read" }),
    "scopes that are no strings": () => ({ scopes: [1] }),
    "no scopes": () => ({ scopes: undefined }),
    "no subject": () => ({ sub: undefined }),
    "no client": () => ({ client_id: undefined }),
    "no identifier": () => ({ jti: undefined }),
    "a connection that is a string": () => ({ mcp_server_id: "7" }),
    "connection 0": () => ({ mcp_server_id: 0 }),
  };
  test("accepts the token without a change", async () => {
    expect(await refusal(`Bearer ${await forge()}`)).toBe("accepted");
  });
  for (const [title, change] of Object.entries(cases)) {
    test(title, async () => {
      expect(await refusal(`Bearer ${await forge(change())}`)).toBe("Invalid or expired token.");
    });
  }
});

describe("the signature of a token", () => {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const payloadOf = (token: string): string => String(token.split(".")[1]);

  test("rejects an unsigned token", async () => {
    const token = await forge();
    for (const alg of ["none", "None", "NONE", ""]) {
      const header = encode({ alg, typ: "at+jwt", kid: installation.keys.current("access_token").id });
      expect(await refusal(`Bearer ${header}.${payloadOf(token)}.`)).toBe("Invalid or expired token.");
      expect(await refusal(`Bearer ${header}.${payloadOf(token)}.AA`)).toBe("Invalid or expired token.");
    }
  });

  test("rejects an HMAC keyed with the public key", async () => {
    const { id, publicJwk } = installation.keys.current("access_token");
    const header = encode({ alg: "HS256", typ: "at+jwt", kid: id });
    const signed = `${header}.${payloadOf(await forge())}`;
    for (const secret of [JSON.stringify(publicJwk), String(publicJwk.x)]) {
      const signature = createHmac("sha256", secret).update(signed).digest("base64url");
      expect(await refusal(`Bearer ${signed}.${signature}`)).toBe("Invalid or expired token.");
    }
  });

  test("rejects a foreign key with a known kid, without a kid, and embedded in the token", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const { id } = installation.keys.current("access_token");
    const headers: JWTHeaderParameters[] = [
      { alg: "ES256", typ: "at+jwt", kid: id },
      { alg: "ES256", typ: "at+jwt" },
      { alg: "ES256", typ: "at+jwt", kid: id, jwk: await exportJWK(publicKey) },
      { alg: "ES256", typ: "at+jwt", kid: "elsewhere", jku: `${installation.issuer}/.well-known/jwks.json` },
    ];
    for (const header of headers) {
      const token = await new SignJWT(decodeJwt(await forge())).setProtectedHeader(header).sign(privateKey);
      expect(await refusal(`Bearer ${token}`)).toBe("Invalid or expired token.");
    }
  });

  test("rejects another algorithm with a known kid", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: installation.keys.current("access_token").id })
      .sign(privateKey);
    expect(await refusal(`Bearer ${token}`)).toBe("Invalid or expired token.");
  });

  test("rejects another signed token type, a critical extension and a signature of zeros", async () => {
    expect(await refusal(`Bearer ${await forge({}, { typ: "JWT" })}`)).toBe("Invalid or expired token.");
    expect(await refusal(`Bearer ${await forge({}, { typ: "id+jwt" })}`)).toBe("Invalid or expired token.");
    const token = await forge();
    const zeros = Buffer.alloc(64).toString("base64url");
    expect(await refusal(`Bearer ${token.split(".").slice(0, 2).join(".")}.${zeros}`)).toBe(
      "Invalid or expired token.",
    );
    const noise = randomBytes(64).toString("base64url");
    expect(await refusal(`Bearer ${token.split(".").slice(0, 2).join(".")}.${noise}`)).toBe(
      "Invalid or expired token.",
    );
  });

  test("rejects an access token under the key of personal access tokens, and vice versa", async () => {
    expect(await refusal(`Bearer ${await forge({}, {}, "personal_access_token")}`)).toBe("Invalid or expired token.");
    expect(await refusal(`Bearer ${await forge({ token_type: "pat", exp: undefined })}`)).toBe(
      "Invalid or expired token.",
    );
  });
});

describe("the audience", () => {
  test("is checked by each route, for a cached token too", async () => {
    const { issuer } = installation;
    const header = `Bearer ${await installation.token(client, { resource: `${issuer}/mcp` })}`;
    expect(await refusal(header, [issuer])).toBe("Invalid or expired token.");
    expect(await refusal(header, [issuer, `${issuer}/mcp`])).toBe("accepted");
    expect(await refusal(header, [issuer])).toBe("Invalid or expired token.");
    expect(await refusal(header, [issuer, `${issuer}/mcp/7`])).toBe("Invalid or expired token.");
    expect(await refusal(header, [])).toBe("Invalid or expired token.");
  });
});
