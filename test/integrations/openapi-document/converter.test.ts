import { expect, test } from "vitest";
import { createDocumentConverter } from "../../../src/integrations/openapi-document/converter.ts";
import { documentOf } from "./support.ts";

test("rejects a document that takes too long to convert, and converts the next one", async () => {
  const converter = createDocumentConverter({ timeoutMs: 1, maxHeapMb: 64 });
  await expect(converter.convert("tenant", JSON.stringify(documentOf()))).rejects.toThrow(/takes longer/);
  await expect(createDocumentConverter().convert("tenant", JSON.stringify(documentOf()))).resolves.toMatchObject({
    title: "Acme",
  });
});

test("rejects a tenant's documents beyond its share of the queue, and documents beyond the queue", async () => {
  const converter = createDocumentConverter({ maxWaiting: { perTenant: 2, total: 3 } });
  const kindOf = async (tenant: string) => {
    const error: unknown = await converter.convert(tenant, "{}").catch((reason: unknown) => reason);
    return (error as Error).name;
  };
  // The first document is converted immediately, so it does not count as waiting.
  const kinds = await Promise.all(["a", "a", "a", "a", "b", "b", "c"].map(kindOf));
  const [read, refused] = ["OpenApiError", "DomainError"];
  expect(kinds).toEqual([read, read, read, refused, read, refused, refused]);
});

test("converts the document of another tenant before the next one of a tenant with many", async () => {
  const converter = createDocumentConverter();
  const finished: string[] = [];
  const convert = async (tenant: string) => {
    await converter.convert(tenant, "{}").catch(() => undefined);
    finished.push(tenant);
  };
  await Promise.all(["many", "many", "many", "few"].map(convert));
  expect(finished).toEqual(["many", "few", "many", "many"]);
});

test("rejects a document that exhausts memory", async () => {
  const converter = createDocumentConverter({ timeoutMs: 30_000, maxHeapMb: 32 });
  const paths = Object.fromEntries(
    Array.from({ length: 200_000 }, (_, index) => [`/a${index}`, { get: { operationId: `a${index}`, responses: {} } }]),
  );
  await expect(converter.convert("tenant", JSON.stringify(documentOf({ paths })))).rejects.toThrow(
    /too much memory|operations/,
  );
});

test("rejects YAML with exponential expansion", async () => {
  const levels = Array.from(
    { length: 12 },
    (_, index) => `l${index + 1}: &l${index + 1} [${Array(9).fill(`*l${index}`).join(", ")}]`,
  );
  const text = ["openapi: 3.1.0", "l0: &l0 [a]", ...levels, "paths: *l12"].join("\n");
  await expect(createDocumentConverter().convert("tenant", text)).rejects.toThrow(/YAML/);
});

test("rejects unlimited nesting", async () => {
  const text = `{"openapi":"3.1.0","paths":{},"x":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
  await expect(createDocumentConverter().convert("tenant", text)).rejects.toThrow();
});
