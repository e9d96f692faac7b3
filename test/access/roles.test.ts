import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, OPERATIONS } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import type { Outcome, ProtocolName } from "../support/outcome.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { type AccessResult, type AccessRule, readAccessTable } from "./access-table.ts";
import { DESTRUCTIVE, REQUESTS } from "./requests.ts";
import { createSubjects, type Subjects } from "./subjects.ts";

let database: TestDatabase;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;
let shared: Subjects;
let foreign: Subjects;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startUpstream()]);
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
  [shared, foreign] = await Promise.all([newSubjects(), newSubjects()]);
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await Promise.all([upstream?.close(), database?.close()]);
});

const newSubjects = (): Promise<Subjects> => createSubjects({ accounts, service, upstream });

/** Statuses of REST and codes of RPC that deny access; any other one granted it. */
const DENIED: Readonly<Record<string, AccessResult>> = {
  403: "forbidden",
  permission_denied: "forbidden",
  404: "not_found",
  not_found: "not_found",
};

function resultOf({ status, message }: Outcome): string {
  if ([401, "unauthenticated", 500, "internal", "unknown"].includes(status)) return `${status}: ${message}`;
  return DENIED[String(status)] ?? "ok";
}

const rules = readAccessTable();
const byOperation = Map.groupBy(rules, ({ operation }) => operation);

test("has a row and a request for every operation", () => {
  expect([...byOperation.keys()].toSorted()).toEqual([...OPERATIONS.keys()].toSorted());
  expect(Object.keys(REQUESTS).toSorted()).toEqual([...OPERATIONS.keys()].toSorted());
});

async function ask(protocol: ProtocolName, rule: AccessRule, subjects: Subjects, token: string): Promise<Outcome> {
  const makeRequest = REQUESTS[rule.operation];
  if (makeRequest === undefined) throw new Error(`${rule.operation} has no request`);
  const request = await makeRequest(subjects, rule.caller, rule.object);
  return createProtocolClient(protocol, service.url, 20_000).call(rule.operation, { ...request, token });
}

describe.each(["rest", "grpc"] as const)("over %s", (protocol) => {
  test.each([...byOperation])("%s grants each role exactly what the table says", async (operation, own) => {
    const found: Record<string, string> = {};
    for (const rule of own) {
      const subjects = DESTRUCTIVE.has(operation) ? await newSubjects() : shared;
      found[`${rule.object} ${rule.caller}`] = resultOf(
        await ask(protocol, rule, subjects, subjects.tokens[rule.caller]),
      );
    }
    const expected = own.map(({ object, caller, result }) => [`${object} ${caller}`, result]);
    expect(found).toEqual(Object.fromEntries(expected));
  });

  const naming = [...byOperation].filter(([, own]) => own.some(({ object }) => object !== "none"));
  test.each(naming)("%s returns 404 for an object of another organization", async (_operation, own) => {
    for (const rule of own.filter(({ object, caller }) => object !== "none" && caller !== "outsider")) {
      const result = resultOf(await ask(protocol, rule, foreign, shared.tokens[rule.caller]));
      // A role that may never use the operation is told so, whatever it names.
      const accepted = rule.result === "forbidden" ? ["not_found", "forbidden"] : ["not_found"];
      expect(accepted, `${rule.object} ${rule.caller}`).toContain(result);
    }
  });
});
