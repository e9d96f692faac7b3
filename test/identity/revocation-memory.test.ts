import { describe, expect, test } from "vitest";
import type { Principal } from "../../src/identity/principal.ts";
import { createRevocationMemory } from "../../src/identity/revocations/revocation-memory.ts";
import type { Revocation } from "../../src/identity/revocations/revocation.ts";
import { createRevocations } from "../../src/identity/revocations/revocations.ts";

const NOW = Date.now() * 1_000;
const HOUR = 3_600_000_000;
const principal: Principal = {
  accountId: "acc_1",
  clientId: "client_1",
  tokenId: "token_1",
  scopes: new Set(["mgmt.read"]),
  issuedAt: Math.floor(NOW / 1_000_000) - 60,
  expiresAt: undefined,
  connectionId: undefined,
  memberId: undefined,
  role: undefined,
  connectionIds: undefined,
  grantId: undefined,
  audience: "https://patchbay.test",
};
const token = { kind: "token", subject: "token_1", before: undefined, revokedAt: NOW - HOUR } as const;
const disabled = { kind: "account", subject: "acc_1", before: undefined, revokedAt: NOW, expiresAt: Infinity } as const;
const enabled = { kind: "account", subject: "acc_1", before: NOW - HOUR, expiresAt: NOW + HOUR } as const;

describe("loading revocations from the database", () => {
  test("keeps every revocation that has not expired, and counts those that the database lost", () => {
    const memory = createRevocationMemory();
    memory.merge([{ ...token, expiresAt: NOW + HOUR }], []);
    expect(memory.merge([], [])).toBe(1);
    expect(memory.refuses(principal)).toBe(true);
  });

  test("removes an expired revocation", () => {
    const memory = createRevocationMemory();
    memory.add({ ...token, expiresAt: NOW - HOUR });
    expect(memory.merge([], [])).toBe(0);
    expect(memory.refuses(principal)).toBe(false);
  });

  test("keeps a revocation with an unknown expiry", () => {
    const memory = createRevocationMemory();
    memory.add({ kind: "client", subject: "client_1", before: undefined });
    memory.merge([], []);
    expect(memory.refuses(principal)).toBe(true);
  });

  test("narrows an account's revocation whose row was written later", () => {
    const memory = createRevocationMemory();
    memory.add(disabled);
    memory.merge([{ ...enabled, revokedAt: NOW + 1 }], []);
    expect(memory.refuses(principal)).toBe(false);
  });

  test("does not narrow an account's revocation by a row from before it", () => {
    const memory = createRevocationMemory();
    memory.add(disabled);
    memory.merge([{ ...enabled, revokedAt: NOW - HOUR }], []);
    expect(memory.refuses(principal)).toBe(true);
  });

  test("applies the enabling of an account that arrives during the query", () => {
    const memory = createRevocationMemory();
    memory.add(disabled);
    memory.merge([disabled], [{ ...enabled, revokedAt: NOW + 1, isNarrowing: true }]);
    expect(memory.refuses(principal)).toBe(false);
  });

  test("does not narrow the revocation of a client", () => {
    const memory = createRevocationMemory();
    memory.add({ kind: "client", subject: "client_1", before: undefined, revokedAt: NOW, expiresAt: Infinity });
    memory.merge([{ kind: "client", subject: "client_1", before: NOW - HOUR, revokedAt: NOW + 1 }], []);
    expect(memory.refuses(principal)).toBe(true);
  });
});

test("a token stays rejected when the database lost its revocation", async () => {
  let rows: readonly Revocation[] = [{ ...token, expiresAt: NOW + HOUR }];
  let reconnect: () => Promise<void> = () => Promise.resolve();
  const lost: number[] = [];
  const revocations = createRevocations({
    store: { listInForce: () => Promise.resolve(rows), listFor: () => Promise.resolve([]) },
    listener: {
      listen: () => Promise.resolve(),
      onReconnect: (resume) => {
        reconnect = resume;
      },
      isHealthy: () => true,
    },
    onLost: (count) => lost.push(count),
  });
  await revocations.start();
  expect(await revocations.isRevoked(principal)).toBe(true);
  rows = [];
  await reconnect();
  expect(await revocations.isRevoked(principal)).toBe(true);
  expect(lost).toEqual([1]);
  revocations.close();
});
