import fc from "fast-check";
import { importJWK, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../src/identity/account.ts";
import { grantableScopes } from "../../src/identity/grantable-scopes.ts";
import { isScope, satisfies, SCOPES } from "../../src/identity/scopes.ts";
import { DomainError } from "../../src/domain-error.ts";
import { type Installation, type Replica, startInstallation } from "../transport/oauth/installation.ts";

let installation: Installation;
let replica: Replica;
let account: Account;
let token: string;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica();
  account = await installation.newAccount();
  token = await installation.token(await installation.clients.create(account, "mgmt.read"));
});
afterAll(async () => {
  await replica.close();
  await installation.close();
});

/** Returns the error kind, or undefined for an accepted header. Rethrows anything but a DomainError. */
async function refusalOf(authorization: string): Promise<string | undefined> {
  try {
    await replica.verifier.verify(authorization, [installation.issuer]);
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error.kind;
    throw error;
  }
}

async function sign(claims: Readonly<Record<string, unknown>>): Promise<string> {
  const { id, privateJwk } = installation.keys.current("access_token");
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: id })
    .sign(await importJWK(privateJwk, "ES256"));
}

describe("the bearer parser", () => {
  test("rejects any text that is not a token of this service with unauthenticated", async () => {
    const part = fc.string({ unit: "binary", maxLength: 60 });
    const jwt = fc
      .tuple(fc.json(), fc.json(), fc.uint8Array({ maxLength: 80 }))
      .map((parts) => parts.map((each) => Buffer.from(each).toString("base64url")).join("."));
    const header = fc.oneof(
      part,
      part.map((text) => `Bearer ${text}`),
      jwt.map((text) => `Bearer ${text}`),
    );
    await fc.assert(
      fc.asyncProperty(header, async (text) => {
        expect(await refusalOf(text)).toBe("unauthenticated");
      }),
      { numRuns: 500 },
    );
  });

  test("accepts the scheme in any case and exactly one space", async () => {
    const schemes = fc.mixedCase(fc.constant("bearer"));
    await fc.assert(
      fc.asyncProperty(schemes, fc.stringMatching(/^[ \t]{0,3}$/), async (scheme, space) => {
        expect((await refusalOf(`${scheme}${space}${token}`)) === undefined).toBe(space === " ");
      }),
    );
  });

  test("rejects a token with any inserted, removed or replaced character", async () => {
    const change = fc.record({
      at: fc.nat(),
      length: fc.nat(3),
      text: fc.oneof(fc.stringMatching(/^[A-Za-z0-9_.=-]{0,3}$/), fc.string({ maxLength: 3 })),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ at, length, text }) => {
        const from = at % (token.length + 1);
        const changed = token.slice(0, from) + text + token.slice(from + length);
        fc.pre(changed !== token);
        const [head, payload, signature] = changed.split(".");
        const [ownHead, ownPayload, ownSignature] = token.split(".");
        const isSameSpelledOtherwise =
          head === ownHead &&
          payload === ownPayload &&
          /^[A-Za-z0-9_-]+$/.test(signature ?? "") &&
          changed.split(".").length === 3 &&
          // The last character of a signature has four unused bits.
          Buffer.from(signature ?? "", "base64url").equals(Buffer.from(ownSignature ?? "", "base64url"));
        expect(await refusalOf(`Bearer ${changed}`)).toBe(isSameSpelledOtherwise ? undefined : "unauthenticated");
      }),
      { numRuns: 500 },
    );
  });

  test("rejects unexpected types and values of claims, even with a valid signature", async () => {
    const now = Math.floor(Date.now() / 1_000);
    const good = {
      iss: installation.issuer,
      aud: installation.issuer,
      sub: account.id,
      client_id: "a client",
      jti: "a token",
      token_use: "access",
      token_type: "oauth",
      scopes: ["mgmt.read"],
      iat: now,
      exp: now + 600,
    };
    expect(await refusalOf(`Bearer ${await sign(good)}`)).toBeUndefined();
    const names = fc.constantFrom(
      "iss",
      "aud",
      "sub",
      "client_id",
      "jti",
      "token_use",
      "token_type",
      "scopes",
      "iat",
      "exp",
    );
    const wrong = fc.oneof(
      fc.constant(undefined),
      fc.constant(null),
      fc.boolean(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Number.isInteger(number)),
      fc.dictionary(fc.string(), fc.string(), { minKeys: 1 }),
      fc.array(fc.oneof(fc.integer(), fc.constant(null)), { minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(names, wrong, async (name, value) => {
        const forged = await sign({ ...good, [name]: value });
        expect(await refusalOf(`Bearer ${forged}`), `${name} ${JSON.stringify(value)}`).toBe("unauthenticated");
      }),
      { numRuns: 200 },
    );
  });
});

describe("the scope rules", () => {
  const scopes = fc.subarray([...SCOPES]);

  test("a requirement is met by one of its scopes or by mgmt.admin, and by nothing else", () => {
    fc.assert(
      fc.property(scopes, scopes, (granted, required) => {
        const isMet = granted.includes("mgmt.admin") || required.some((scope) => granted.includes(scope));
        expect(satisfies(new Set(granted), required)).toBe(isMet);
      }),
    );
  });

  test("adding scopes never removes access, and no scopes give no access", () => {
    fc.assert(
      fc.property(scopes, scopes, scopes, (granted, more, required) => {
        if (satisfies(new Set(granted), required))
          expect(satisfies(new Set([...granted, ...more]), required)).toBe(true);
        expect(satisfies(new Set(), required)).toBe(false);
      }),
    );
  });

  test("a client gets all requested scopes or an error, and only administrators can give mgmt.admin", () => {
    const word = fc.oneof(fc.constantFrom<string>(...SCOPES), fc.string({ maxLength: 12 }));
    fc.assert(
      fc.property(fc.array(word), fc.boolean(), (words, isAdmin) => {
        const asked = words
          .join(" ")
          .split(" ")
          .filter((each) => each !== "");
        const isRight = asked.length > 0 && asked.every(isScope) && (isAdmin || !asked.includes("mgmt.admin"));
        const give = (): readonly string[] => grantableScopes({ ...account, isAdmin }, words.join(" "));
        if (isRight) expect(new Set(give())).toEqual(new Set(asked));
        else expect(give).toThrow(DomainError);
      }),
    );
  });
});
