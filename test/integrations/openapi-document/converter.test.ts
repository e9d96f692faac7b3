import { expect, test } from "vitest";
import { createDocumentConverter } from "../../../src/integrations/openapi-document/converter.ts";
import { documentOf } from "./support.ts";

test("a document that takes too long is refused, and the next one is read", async () => {
  const converter = createDocumentConverter({ timeoutMs: 1, maxHeapMb: 64 });
  await expect(converter.convert(JSON.stringify(documentOf()))).rejects.toThrow(/takes longer/);
  await expect(createDocumentConverter().convert(JSON.stringify(documentOf()))).resolves.toMatchObject({
    title: "Acme",
  });
});

test("of very many documents at once the last ones are refused, and the others are read", async () => {
  const converter = createDocumentConverter();
  const all = await Promise.allSettled(Array.from({ length: 52 }, () => converter.convert("{}")));
  const kinds = all.map((each) => (each.status === "rejected" ? (each.reason as Error).name : ""));
  expect([...new Set(kinds.slice(0, 50))]).toEqual(["OpenApiError"]);
  expect(kinds.slice(50)).toEqual(["DomainError", "DomainError"]);
});

test("a document that grows without end when it is read is refused", async () => {
  const converter = createDocumentConverter({ timeoutMs: 30_000, maxHeapMb: 32 });
  const paths = Object.fromEntries(
    Array.from({ length: 200_000 }, (_, index) => [`/a${index}`, { get: { operationId: `a${index}`, responses: {} } }]),
  );
  await expect(converter.convert(JSON.stringify(documentOf({ paths })))).rejects.toThrow(/too much memory|operations/);
});

test("YAML that multiplies itself is refused", async () => {
  const levels = Array.from(
    { length: 12 },
    (_, index) => `l${index + 1}: &l${index + 1} [${Array(9).fill(`*l${index}`).join(", ")}]`,
  );
  const text = ["openapi: 3.1.0", "l0: &l0 [a]", ...levels, "paths: *l12"].join("\n");
  await expect(createDocumentConverter().convert(text)).rejects.toThrow(/YAML/);
});

test("nesting without end is refused", async () => {
  const text = `{"openapi":"3.1.0","paths":{},"x":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  await expect(createDocumentConverter().convert(text)).rejects.toThrow();
});
