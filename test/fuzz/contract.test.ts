import { Agent } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listOperations, readDocument } from "../contract/document.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { createContractCheck } from "./contract-check.ts";
import { createRandom } from "./random.ts";
import { createRequests, describeRequest } from "./requests.ts";
import { createSend } from "./send.ts";

/** The size and seed of the CI run. `npm run fuzz -- --seed …` runs longer, with a new seed each time. */
const SEED = Number(process.env["FUZZ_SEED"] ?? 20261121);
const REQUESTS = 1_500;

let database: TestDatabase;
let service: Service;
let upstream: Upstream;
let accounts: TestAccounts;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startUpstream()]);
  const env = { OUTBOUND_ALLOW: upstream.host, LOG_LEVEL: "error", RATE_LIMITS: "off" };
  service = await startService({ databaseUrl: database.url, env });
  accounts = await openAccounts(service.env);
});
afterAll(async () => {
  agent.destroy();
  await accounts?.close();
  await service?.stop();
  await upstream?.close();
  await database?.close();
});

test(`every operation matches its contract for random requests (seed ${SEED})`, async () => {
  const document = await readDocument();
  const account = await accounts.create();
  const tokens = [
    await account.token("mgmt.read mgmt.write mgmt.admin mcp.read mcp.write"),
    await account.token("mgmt.read"),
    await accounts.forge(account, { exp: 1 }),
  ];
  const seen: string[] = [];
  const connections = ["read", "write"].map((access) => ({
    ...{ server_type: "mcp", name: "Fuzz", configuration: { url: upstream.url }, access_type: access },
  }));
  const make = createRequests({ document, random: createRandom(SEED), tokens, seen, connections });
  const [send, findBroken] = [createSend(service.url, agent), createContractCheck(document)];
  const broken = new Map<string, string>();
  const succeeded = new Set<string>();
  for (let sent = 0; sent < REQUESTS; sent += 1) {
    const request = make();
    const answer = await send(request);
    const ids = answer.text.matchAll(/"(?:id|server_id|sessionId|client_id)":"?([\w.-]{1,80})/g);
    seen.push(...[...ids].map(([, id = ""]) => id));
    seen.splice(0, seen.length - 200);
    succeeded.add(`${request.operation} ${answer.status < 300 ? "2xx" : "refused"}`);
    const complaint =
      answer.status === 500 ? `${request.operation} failed: ${answer.text}` : findBroken(request, answer);
    if (complaint !== undefined && !broken.has(complaint)) broken.set(complaint, describeRequest(request));
  }
  expect(Object.fromEntries(broken)).toEqual({});
  const reached = listOperations(document).map(({ operation }) => operation.operationId);
  for (const operation of reached) {
    expect(
      [...succeeded].some((each) => each.startsWith(`${operation} `)),
      operation,
    ).toBe(true);
  }
}, 240_000);

test("a contract violation is detected", async () => {
  const findBroken = createContractCheck(await readDocument());
  const request = { operation: "", method: "GET", target: "/api/v1/mcp-servers?limit=1", headers: {}, body: undefined };
  const violationOf = (status: number, text: string, type = "application/json; charset=utf-8"): string | undefined =>
    findBroken(request, { status, headers: { "content-type": type }, text, isStream: false });
  expect(violationOf(200, '{"success":true,"data":[]}')).toBeUndefined();
  expect(violationOf(200, '{"success":true}')).toMatch(/^listConnections 200: data must have required property 'data'/);
  expect(violationOf(201, "{}")).toBe("listConnections 201 is not in the document");
  expect(violationOf(200, "[]", "text/html")).toBe('listConnections 200 has the content type "text/html"');
  expect(violationOf(401, '{"detail":"Invalid token."}')).toBe("listConnections 401 lacks the header WWW-Authenticate");
  const headers = { "content-type": "application/json" };
  const create = { ...request, method: "PUT", target: "/api/v1/account/settings", headers };
  const accepted = { status: 200, headers, text: '{"success":true,"data":{"tool_search":true}}', isStream: false };
  expect(findBroken({ ...create, body: Buffer.from('{"tool_search":null}') }, accepted)).toBeUndefined();
  expect(findBroken({ ...create, body: Buffer.from('{"tool_search":1}') }, accepted)).toMatch(
    /what the document forbids/,
  );
});
