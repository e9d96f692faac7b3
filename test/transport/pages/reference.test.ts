import { readFile } from "node:fs/promises";
import SwaggerParser from "@apidevtools/swagger-parser";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { openAccounts, type TestAccounts } from "../../support/accounts.ts";
import { collectComplaints, type HeadlessBrowser, startBrowser } from "../../support/browser.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { type Service, startService } from "../../support/service.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let browser: HeadlessBrowser;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  await accounts?.close();
  await service?.stop();
  await database?.close();
});

test(
  "the API reference loads both documents and calls the API with a token, without a policy violation or a request to another site",
  { tags: "browser" },
  async () => {
    const token = await (await accounts.create()).token();
    const page = await browser.newPage();
    const complaints = collectComplaints(page);
    const foreign: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(`${service.url}/`) && !/^(data|blob):/.test(request.url()))
        foreign.push(request.url());
    });
    // Also catches policy violations that cause no visible error.
    await page.addInitScript(`document.addEventListener("securitypolicyviolation", ({ violatedDirective, sample }) => {
    console.error("refused by " + violatedDirective + ": " + sample);
  })`);

    const answer = await page.goto(`${service.url}/docs`);
    expect(answer?.headers()["content-security-policy"]).not.toMatch(/unsafe/);
    // The reference renders a section only after it scrolls into view.
    await page.getByRole("link", { name: /^Create a connection/ }).click();
    await page.getByRole("heading", { name: "Create a connection" }).first().waitFor();
    await page.getByRole("button", { name: "Select from all clients" }).first().click();
    const snippets = await page.getByRole("option").allInnerTexts();
    expect(snippets.toSorted()).toEqual(["Curl", "Fetch", "NewRequest", "Requests"]);
    await page.keyboard.press("Escape");

    await page.getByLabel("Bearer Token").first().fill(token);
    await page.getByRole("link", { name: /^List connections/ }).click();
    await page.getByRole("button", { name: /^Test Request\s*\(get \/api\/v1\/mcp-servers\)$/ }).click();
    const called = page.waitForResponse((response) => new URL(response.url()).pathname === "/api/v1/mcp-servers");
    await page.getByRole("button", { name: /^Send/ }).first().click();
    expect((await called).status()).toBe(200);

    await page.goto(`${service.url}/docs?api=rpc`);
    await page.getByRole("link", { name: /^GetAccountSettings/ }).waitFor();
    await page.getByText("Reads and changes the settings of the caller's own account.").first().waitFor();
    expect(complaints).toEqual([]);
    expect(foreign).toEqual([]);
    await page.context().close();
  },
);

const DOCUMENTS = ["/openapi.yaml", "/openapi.json", "/openapi-rpc.json", "/descriptor.binpb"];

async function read(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  return fetch(service.url + path, { method, headers });
}

describe.each(DOCUMENTS)("%s", (path) => {
  test("serves the document to everybody, compressed on request, with an ETag that allows 304", async () => {
    const plain = await read(path, { "accept-encoding": "identity" });
    const content = Buffer.from(await plain.arrayBuffer());
    expect([plain.status, plain.headers.get("content-encoding")]).toEqual([200, null]);
    const packed = await read(path, { "accept-encoding": "br;q=0.5, gzip" });
    expect([packed.headers.get("content-encoding"), packed.headers.get("vary")]).toEqual(["gzip", "accept-encoding"]);
    expect(Number(packed.headers.get("content-length"))).toBeLessThan(content.length);
    // fetch has already decompressed the body.
    expect(Buffer.from(await packed.arrayBuffer()).equals(content)).toBe(true);
    const refused = await read(path, { "accept-encoding": "gzip;q=0" });
    expect(refused.headers.get("content-encoding")).toBeNull();

    const etag = plain.headers.get("etag") ?? "";
    for (const known of [etag, etag.replace("W/", ""), `"other", ${etag}`, "*"]) {
      const again = await read(path, { "if-none-match": known });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await read(path, { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("returns only headers for HEAD and rejects other methods", async () => {
    const head = await read(path, {}, "HEAD");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(Number(head.headers.get("content-length"))).toBeGreaterThan(1_000);
    const post = await read(path, {}, "POST");
    expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

test("the served OpenAPI document equals the contract, with this service as its only server", async () => {
  const source = parse(await readFile(new URL("../../../openapi/patchbay.yaml", import.meta.url), "utf8")) as object;
  const servers = [{ url: service.url, description: "The service that serves this document." }];
  const served = await (await read("/openapi.yaml")).text();
  // SnakeYAML expands at most 50 aliases. PyYAML and SnakeYAML read YAML 1.1, where an unquoted date is not a string.
  expect(parse(served, { maxAliasCount: 0 })).toEqual({ ...source, servers });
  expect(parse(served, { version: "1.1", schema: "yaml-1.1" })).toEqual({ ...source, servers });
  expect(await (await read("/openapi.json")).json()).toEqual({ ...source, servers });
});

test("the descriptors contain every service, and the RPC document contains every public method", async () => {
  const bytes = new Uint8Array(await (await read("/descriptor.binpb")).arrayBuffer());
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
  const methods = [...registry].flatMap((type) =>
    type.kind === "service" && type.typeName.startsWith("patchbay.")
      ? type.methods.map(({ name }) => `/${type.typeName}/${name}`)
      : [],
  );
  const { paths } = (await (await read("/openapi-rpc.json")).json()) as { paths: object };
  expect(methods).toContain("/patchbay.v1.ConnectionService/CreateConnection");
  expect(Object.keys(paths).toSorted()).toEqual(methods.toSorted());
});

test("the RPC document is valid OpenAPI", async () => {
  const document = await (await read("/openapi-rpc.json")).json();
  await expect(SwaggerParser.validate(document as never)).resolves.toMatchObject({ openapi: "3.1.0" });
});
