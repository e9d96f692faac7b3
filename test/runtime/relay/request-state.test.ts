import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createRequestStates } from "../../../src/runtime/relay/request-state.ts";
import { createSealer } from "../../../src/storage/sealing.ts";
import { createStateSealer } from "../../../src/storage/state-sealer.ts";
import type { Principal } from "../../../src/identity/principal.ts";

const sealer = createStateSealer(createSealer([{ version: 1, key: randomBytes(32) }]));
const principal: Principal = {
  accountId: "a1",
  clientId: "client_1",
  scopes: new Set(["mcp.read"]),
  connectionId: undefined,
  grantId: "grant_1",
  memberId: undefined,
  role: undefined,
  connectionIds: undefined,
  tokenId: "t1",
  audience: "http://localhost",
  issuedAt: 0,
  expiresAt: undefined,
};
const request = { principal, method: "tools/call", params: { name: "deploy", arguments: { to: "prod", count: 1 } } };
const STATE = { kind: "upstream", connectionId: 7, state: "the upstream's" } as const;

test("opens a state for the same request, whatever the token, the metadata and the order of the arguments", () => {
  const states = createRequestStates(sealer);
  const sealed = states.seal(request, STATE);
  expect(sealed).not.toContain("upstream");
  const repeated = {
    ...request,
    principal: { ...principal, tokenId: "t2" },
    params: {
      _meta: { progressToken: 2 },
      arguments: { count: 1, to: "prod" },
      name: "deploy",
      inputResponses: { a: {} },
      requestState: sealed,
    },
  };
  expect(states.open(repeated, sealed)).toEqual(STATE);
  for (const other of [
    { ...STATE, state: undefined },
    { kind: "parked", address: "a" },
  ] as const)
    expect(states.open(request, states.seal(request, other))).toEqual(other);
});

test.each([
  ["account", { ...request, principal: { ...principal, accountId: "a2" } }],
  ["client", { ...request, principal: { ...principal, clientId: "client_2" } }],
  ["grant", { ...request, principal: { ...principal, grantId: undefined } }],
  ["bound connection", { ...request, principal: { ...principal, connectionId: 7 } }],
  ["method", { ...request, method: "prompts/get" }],
  ["tool", { ...request, params: { ...request.params, name: "remove" } }],
  ["argument", { ...request, params: { ...request.params, arguments: { to: "test", count: 1 } } }],
])("rejects a state of another %s", (_, other) => {
  const states = createRequestStates(sealer);
  expect(() => states.open(other, states.seal(request, STATE))).toThrow(/requestState is not valid for this request/);
});

test("rejects a state with any changed character, and text that is not base64url", () => {
  const states = createRequestStates(sealer);
  const sealed = states.seal(request, STATE);
  for (let index = 0; index < sealed.length; index += 1) {
    const changed = sealed.slice(0, index) + (sealed[index] === "A" ? "B" : "A") + sealed.slice(index + 1);
    expect(() => states.open(request, changed)).toThrow(/not valid/);
  }
  for (const text of ["", `${sealed}-TAMPERED`, `${sealed}=`, ` ${sealed}`, "{}"])
    expect(() => states.open(request, text)).toThrow(/not valid/);
});

test("rejects a state after an hour", () => {
  let nowMs = 1_000_000;
  const states = createRequestStates(sealer, () => nowMs);
  const sealed = states.seal(request, STATE);
  nowMs += 3_600_000;
  expect(states.open(request, sealed)).toEqual(STATE);
  nowMs += 1_000;
  expect(() => states.open(request, sealed)).toThrow(/has expired/);
});
