import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMcpWorld, type McpWorld } from "./world.ts";

let world: McpWorld;
beforeAll(async () => {
  world = await createMcpWorld({ PUBLIC_URL: "https://gateway.acme.example" });
}, 90_000);
afterAll(async () => {
  await world?.close();
});

const get = (path: string, init: RequestInit = {}) => fetch(world.service.url + path, init);

const card = (name: string, url: string) => ({
  $schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
  name,
  title: "Patchbay",
  description: expect.stringMatching(/^.{1,100}$/) as string,
  version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
  remotes: [
    {
      type: "streamable-http",
      url,
      supportedProtocolVersions: ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
    },
  ],
});

describe("server card", () => {
  test("describes how to connect, and requires no token", async () => {
    const answer = await get("/mcp/server-card", { headers: { accept: "application/mcp-server-card+json" } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/mcp-server-card+json");
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(await answer.json()).toEqual(card("example.acme.gateway/patchbay", "https://gateway.acme.example/mcp"));
  });

  test("returns the same card for existing and missing connections", async () => {
    for (const id of [world.id, "999999"]) {
      const answer = await get(`/mcp/${id}/server-card`);
      expect(await answer.json()).toEqual(
        card(`example.acme.gateway/patchbay-${id}`, `https://gateway.acme.example/mcp/${id}`),
      );
    }
    expect((await get("/mcp/none/server-card")).status).toBe(404);
  });

  test("the card has an ETag, allows preflight requests and rejects other methods", async () => {
    const etag = (await get("/mcp/server-card")).headers.get("etag") ?? "";
    expect((await get("/mcp/server-card", { headers: { "if-none-match": etag } })).status).toBe(304);
    const preflight = await get("/mcp/server-card", { method: "OPTIONS" });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET");
    expect((await get("/mcp/server-card", { method: "POST" })).status).toBe(405);
  });
});

test("the catalog contains the server card of /mcp", async () => {
  const answer = await get("/.well-known/ai-catalog.json");
  expect(answer.headers.get("content-type")).toBe("application/ai-catalog+json");
  expect(await answer.json()).toEqual({
    specVersion: "1.0",
    entries: [
      {
        identifier: "urn:air:gateway.acme.example:patchbay",
        displayName: "Patchbay",
        type: "application/mcp-server-card+json",
        url: "https://gateway.acme.example/mcp/server-card",
      },
    ],
  });
});
