import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startEverythingServer, type EverythingServer } from "./everything-server.ts";
import { createSubject, patient, target, textOf, tool } from "./support.ts";

describe("the reference MCP server as an upstream", () => {
  let server: EverythingServer;
  let subject: ReturnType<typeof createSubject>;
  beforeAll(async () => {
    server = await startEverythingServer();
    subject = createSubject([server.url]);
  });
  afterAll(async () => {
    await subject.close();
    await server.stop();
  });

  it("is verified by listing its tools, without a key", async () => {
    expect(await subject.integration.verify(target(server.url), patient())).toEqual({ outcome: "verified" });
  });

  it("lists its tools with schemas, and marks only those with readOnlyHint as read-only", async () => {
    const tools = await subject.integration.listTools(target(server.url), patient());
    const echo = tools.find(({ name }) => name === "echo");
    expect(echo).toMatchObject({
      description: expect.any(String) as string,
      inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
      annotations: { audience: ["user", "assistant"], requiresAuth: false },
    });
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["get-sum", "get-tiny-image", "get-structured-content"]),
    );
    for (const { readOnly } of tools) expect(typeof readOnly).toBe("boolean");
  });

  it("echoes text and adds numbers", async () => {
    const connection = target(server.url);
    const { integration } = subject;
    const echo = await integration.callTool(connection, tool("echo"), { message: "grüß 🌍" }, patient());
    expect(echo).toMatchObject({ content: [{ type: "text", text: "Echo: grüß 🌍" }], isError: false });
    const sum = await integration.callTool(connection, tool("get-sum"), { a: 2, b: 40 }, patient());
    expect(textOf(sum)).toContain("42");
  });

  it("relays images, resource links and structured content unchanged", async () => {
    const connection = target(server.url);
    const { integration } = subject;
    const image = await integration.callTool(connection, tool("get-tiny-image"), {}, patient());
    expect(image.content).toContainEqual({
      type: "image",
      data: expect.stringMatching(/^iVBOR/) as string,
      mimeType: "image/png",
    });
    const links = await integration.callTool(connection, tool("get-resource-links"), { count: 2 }, patient());
    expect(links.content.filter(({ type }) => type === "resource_link")).toHaveLength(2);
    const structured = await integration.callTool(
      connection,
      tool("get-structured-content"),
      { location: "New York" },
      patient(),
    );
    expect(structured.structuredContent).toMatchObject({ temperature: expect.any(Number) as number });
  });

  it("reports invalid arguments as a result", async () => {
    const result = await subject.integration.callTool(target(server.url), tool("get-sum"), { a: "x" }, patient());
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/invalid/i);
  });

  it("reopens a session that the upstream lost", async () => {
    const connection = target(server.url);
    const call = (message: string) => subject.integration.callTool(connection, tool("echo"), { message }, patient());
    expect(textOf(await call("before"))).toBe("Echo: before");
    await server.restart();
    expect(textOf(await call("after"))).toBe("Echo: after");
  });

  it("shares one session among concurrent calls", async () => {
    const connection = target(server.url);
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        subject.integration.callTool(connection, tool("echo"), { message: String(index) }, patient()),
      ),
    );
    expect(results.map(textOf)).toEqual(Array.from({ length: 20 }, (_, index) => `Echo: ${index}`));
  });
});
