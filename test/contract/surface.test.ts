import { describe, expect, test } from "vitest";
import { type Answer, listOperations, readDocument, resolve } from "./document.ts";

const document = await readDocument();
const operations = listOperations(document);

/** The ten HTTP operations of the specification, with their statuses. */
const SPECIFIED: [method: string, path: string, statuses: string[]][] = [
  ["POST", "/api/v1/mcp-servers", ["201", "401", "403", "500"]],
  ["GET", "/api/v1/mcp-servers", ["200", "401", "403", "500"]],
  ["GET", "/api/v1/mcp-servers/{server_id}", ["200", "401", "403", "404", "500"]],
  ["PUT", "/api/v1/mcp-servers/{server_id}", ["200", "400", "401", "403", "404", "500"]],
  ["DELETE", "/api/v1/mcp-servers/{server_id}", ["200", "401", "403", "404", "500"]],
  ["GET", "/api/v1/mcp-servers/{server_id}/tools", ["200", "401", "403", "404"]],
  ["POST", "/oauth2/token", ["200", "401"]],
  ["POST", "/mcp/initialize", ["200", "401"]],
  ["POST", "/mcp/tools/list", ["200", "401"]],
  ["POST", "/mcp/tools/call", ["200", "401"]],
];

test.each(SPECIFIED)("%s %s documents the statuses of the specification", (method, path, statuses) => {
  const operation = operations.find((each) => each.method === method && each.path === path)?.operation;
  expect(Object.keys(operation?.responses ?? {})).toEqual(expect.arrayContaining(statuses));
});

describe.each(operations.map((each) => [`${each.method} ${each.path}`, each] as const))("%s", (_title, located) => {
  const { operation } = located;
  const answers = Object.entries(operation.responses).map(([status, answer]): [string, Answer] => [
    status,
    resolve(document, answer),
  ]);

  test("requires a token, or is intentionally public", () => {
    const isPublic = ["/.well-known/", "/livez", "/healthz", "/readyz"].some((prefix) =>
      located.path.startsWith(prefix),
    );
    expect(operation.security.length === 0).toBe(isPublic);
  });

  test("documents how to authenticate with a 401", () => {
    const unauthenticated = answers.find(([status]) => status === "401")?.[1];
    expect(unauthenticated !== undefined).toBe(operation.security.length > 0);
    if (unauthenticated) expect(Object.keys(unauthenticated.headers ?? {})).toContain("WWW-Authenticate");
  });

  test("documents when to retry with a 429 and a 503", () => {
    for (const [status, { headers }] of answers) {
      if (status === "429" || status === "503") expect(Object.keys(headers ?? {})).toContain("Retry-After");
    }
  });

  test("documents ETag and 304 for reads other than streams, and rate limit headers if it requires a token", () => {
    const good = answers.filter(([status]) => status.startsWith("2"));
    const isStream = good.some(([, { content }]) => content?.["text/event-stream"] !== undefined);
    const isRead = located.method === "GET" && located.path.startsWith("/api/v1/") && !isStream;
    expect(answers.some(([status]) => status === "304")).toBe(isRead);
    for (const [, { headers = {} }] of good) {
      expect("ETag" in headers).toBe(isRead);
      expect("RateLimit" in headers).toBe(operation.security.length > 0 && !isStream);
    }
  });

  test("has a single error body", () => {
    const error = located.path.startsWith("/oauth2/") ? "OAuthError" : "ApiError";
    for (const [status, { content }] of answers) {
      if (Number(status) < 400) continue;
      expect(content?.["application/json"]?.schema).toEqual({ $ref: `#/components/schemas/${error}` });
    }
  });

  test("links to operations with parameters that they have", () => {
    for (const [, { links = {} }] of answers) {
      for (const { operationId, parameters } of Object.values(links)) {
        const linked = operations.find((each) => each.operation.operationId === operationId);
        const known = linked?.parameters.flatMap((each) => [each.name, `${each.in}.${each.name}`]);
        expect(known).toEqual(expect.arrayContaining(Object.keys(parameters)));
      }
    }
  });

  test("documents 413 and 415 if and only if it has a body", () => {
    const statuses = answers.map(([status]) => status);
    expect(statuses.includes("413")).toBe(operation.requestBody !== undefined);
    expect(statuses.includes("415")).toBe(operation.requestBody !== undefined);
  });
});
