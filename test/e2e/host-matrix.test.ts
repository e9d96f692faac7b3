import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOCAL_HOSTS } from "../hosts/local-hosts.ts";
import { type MatrixService, startMatrixService } from "../hosts/matrix-service.ts";
import { runHost } from "../hosts/run-host.ts";
import { STEPS } from "../hosts/story.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

/** Real clients and real upstreams. `npm run test:hosts` adds clients in other languages. */
const UPSTREAMS = ["SDK v1", "SDK v2, 2026-07-28", "server-everything", "REST"];

let database: TestDatabase;
let service: MatrixService;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startMatrixService({ databaseUrl: database.url });
}, 90_000);

afterAll(async () => {
  await service?.close();
  await database?.close();
});

describe.each(LOCAL_HOSTS.map((host) => [host.name, host.version, host] as const))("%s %s", (_name, _version, host) => {
  test.each(UPSTREAMS)(
    "lists, calls with progress, cancels and answers with the upstream %s, except for what is known to be impossible",
    async (name) => {
      const upstream = service.upstreams.find(({ story }) => story.upstream === name);
      if (upstream === undefined) throw new Error(`there is no upstream ${name}`);
      const results = await runHost(host, upstream, service.token);
      const expected = STEPS.map((step) => [step, (upstream.lacks[step] ?? host.lacks[step])?.word ?? "yes"]);
      expect(results.map(({ step, result }) => [step, result])).toEqual(expected);
    },
    120_000,
  );
});
