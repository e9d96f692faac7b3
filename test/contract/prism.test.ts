import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/json.ts";
import { type Child, startChild } from "../support/child-process.ts";
import { freePort } from "../support/free-port.ts";
import { type LocatedOperation, listExamples, listOperations, readDocument, resolve } from "./document.ts";

const document = await readDocument();
let prism: Child | undefined;
let origin: string;

// As `npm run mock` starts it, on another port.
beforeAll(async () => {
  const port = await freePort();
  const entry = createRequire(import.meta.url).resolve("@stoplight/prism-cli/dist/index.js");
  const args = [entry, "mock", "openapi/patchbay.yaml", "--port", String(port)];
  prism = await startChild({ command: process.execPath, args, ready: /is listening/ });
  origin = `http://127.0.0.1:${port}`;
});

afterAll(async () => {
  await prism?.end("SIGKILL");
});

/** Asks the mock for one documented answer with a request that is right in every other way. */
async function ask({ method, path, operation, parameters }: LocatedOperation, prefer: string): Promise<Response> {
  const headers: Record<string, string> = { prefer };
  const isBasic = operation.security.some((alternative) => "clientBasic" in alternative);
  if (operation.security.length > 0)
    headers.authorization = isBasic ? `Basic ${btoa("client:secret")}` : "Bearer token";
  const query = new URLSearchParams();
  for (const { in: place, name, required, example } of parameters) {
    if (place === "header" && typeof example === "string") headers[name] = example;
    if (place === "query" && required === true && typeof example === "string") query.set(name, example);
  }
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  let body: string | undefined;
  if (type !== undefined && media !== undefined) {
    headers["content-type"] = type;
    const value = listExamples(document, media)[0]?.[1];
    const isForm = type === "application/x-www-form-urlencoded";
    body = isForm ? new URLSearchParams(value as Record<string, string>).toString() : JSON.stringify(value);
  }
  return fetch(
    origin +
      path.replace("{server_id}", "1").replace("{server_type}", "bamboohr") +
      (query.size > 0 ? `?${query.toString()}` : ""),
    {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    },
  );
}

describe.each(listOperations(document).map((each) => [`${each.method} ${each.path}`, each] as const))(
  "%s",
  (_title, located) => {
    const answers = Object.entries(located.operation.responses).flatMap(([status, reference]) => {
      const media = Object.entries(resolve(document, reference).content ?? {});
      return media.flatMap(([type, each]) =>
        listExamples(document, each).map(([name, value]): [string, string, string, JsonValue] => [
          status,
          name,
          type,
          value,
        ]),
      );
    });

    test.each(answers)("the mock answers %s %s as documented", async (status, name, type, value) => {
      const response = await ask(located, `code=${status}, example=${name}`);
      expect(response.status).toBe(Number(status));
      expect(response.headers.get("content-type")).toContain(type);
      if (type === "application/json") expect(await response.json()).toEqual(value);
      // Prism's YAML reader drops trailing line breaks.
      else expect((await response.text()).trimEnd()).toBe((value as string).trimEnd());
    });

    test("without a wish the mock answers the first success", async () => {
      const response = await ask(located, "");
      expect(String(response.status)).toBe(answers[0]?.[0]);
    });
  },
);

test("without a token the mock answers as the service does", async () => {
  const response = await fetch(`${origin}/api/v1/mcp-servers`);
  expect(response.status).toBe(401);
  expect(response.headers.has("www-authenticate")).toBe(true);
  expect(await response.json()).toEqual({ detail: "Authentication credentials were not provided." });
});
