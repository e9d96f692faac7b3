import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { createSubject, textOf } from "./subject.ts";
import { CONTRACT, createUpstreams, IMPATIENT, json, LIMITS } from "./upstream.ts";

const upstreams = createUpstreams();
const upstream = upstreams.start;
afterEach(upstreams.stop);

describe("retries a read once after a temporary failure, and never a write", () => {
  it.each([502, 503, 504])("repeats a read after %i", async (status) => {
    const { call } = await upstream((response, _request, count) => {
      json(response, count === 1 ? status : 200, { count });
    });
    expect(await call("list")).toMatchObject({ isError: false, structuredContent: { count: 2 } });
  });

  it("repeats a read after a connection reset", async () => {
    const { call } = await upstream((response, request, count) => {
      if (count === 1) request.socket.resetAndDestroy();
      else json(response, 200, { count });
    });
    expect(await call("list")).toMatchObject({ isError: false, structuredContent: { count: 2 } });
  });

  it("does not repeat a read if the upstream states a wait", async () => {
    const { call } = await upstream((response, _request, count) => {
      json(response, 503, { message: `try ${count}` }, { "retry-after": "60" });
    });
    expect(textOf(await call("list"))).toContain("try 1");
  });

  it("reports an interrupted write as possibly executed", async () => {
    let seen = 0;
    const { call } = await upstream((response, _request, count) => {
      seen = count;
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write("{");
      setTimeout(() => response.destroy(), 20);
    });
    const result = await call("create", { body: {} });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("Whether the change was made is not known");
    expect(seen).toBe(1);
  });
});

describe("returns the cause and a remedy for an unusable response", () => {
  it("reports an upstream that sends nothing", async () => {
    const { call } = await upstream(() => undefined, IMPATIENT);
    const result = await call("list");
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toContain("did not answer within");
    expect(textOf(result)).toContain('"limit"');
  });

  it("reports an upstream that sends single bytes slowly", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => {
        clearInterval(timer);
      });
    }, IMPATIENT);
    expect(textOf(await call("list"))).toContain("did not answer within");
  });

  it("rejects an announced length of five gigabytes", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "5000000000" }).write("[");
    });
    expect(textOf(await call("list"))).toMatch(/larger than .* Ask for less with "limit"/);
  });

  it("aborts an endless response", async () => {
    let sent = 0;
    const closed = Promise.withResolvers<undefined>();
    const { call } = await upstream((response) => {
      response.on("close", () => {
        closed.resolve(undefined);
      });
      const chunk = Buffer.alloc(16_384, 0x20);
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on("drain", pump);
      pump();
    });
    expect(textOf(await call("list"))).toContain("larger than");
    await closed.promise;
    expect(sent).toBeLessThan(50_000_000);
  });

  it.each<[string, (body: Buffer) => Buffer]>([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("aborts a %s bomb", async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(50_000_000, 0x20));
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding }).end(bomb);
    });
    expect(textOf(await call("list"))).toContain("larger than");
  });

  it("reads a compressed response", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(gzipSync('{"a":1}'));
    });
    expect(await call("list")).toMatchObject({ isError: false, structuredContent: { a: 1 } });
  });

  it("rejects an unknown compression", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "zip" }).end("{}");
    });
    expect(textOf(await call("list"))).toContain("compression that cannot be read");
  });

  it("does not parse truncated JSON", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"a": [1, 2');
    });
    const result = await call("list");
    expect(result).toMatchObject({ isError: true });
    expect(result).not.toHaveProperty("structuredContent");
    expect(textOf(result)).toContain('It begins: {"a": [1, 2');
  });

  it("returns JSON with 15,000 levels as text only", async () => {
    const deep = `${'{"a":'.repeat(15_000)}1${"}".repeat(15_000)}`;
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(deep);
    });
    expect(await call("list")).toEqual({ content: [{ type: "text", text: deep }], isError: false });
  });

  it("rejects a response shorter than its announced length", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write('{"a":1}');
      setTimeout(() => response.destroy(), 20);
    });
    expect(await call("list")).toMatchObject({ isError: true });
  });

  it("returns a login page as text", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<h1>Log in</h1>");
    });
    expect(await call("list")).toEqual({ content: [{ type: "text", text: "<h1>Log in</h1>" }], isError: false });
  });

  it("does not follow a redirect", async () => {
    let seen = 0;
    const { call } = await upstream((response, _request, count) => {
      seen = count;
      response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end();
    });
    expect(textOf(await call("list"))).toContain("redirects are not followed");
    expect(seen).toBe(1);
  });

  it("reports an unreachable server", async () => {
    const free = await freePort();
    const subject = createSubject(CONTRACT, `http://127.0.0.1:${free}`, { limits: LIMITS });
    expect(textOf(await subject.call("list"))).toBe(
      "Acme could not be reached: nothing accepts connections at its address. Try again later.",
    );
    expect(await subject.verify()).toMatchObject({ outcome: "retry" });
    await subject.close();
  });

  it("cancels the call at the upstream when the caller disconnects", async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<string>();
    const { call } = await upstream((response) => {
      response.on("close", () => {
        closed.resolve("closed");
      });
      controller.abort(new Error("gone"));
    });
    await expect(call("list", {}, controller.signal)).rejects.toThrow("gone");
    expect(await closed.promise).toBe("closed");
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const socket = connect(port, "127.0.0.1");
  await new Promise((resolve) => socket.once("error", resolve));
  return port;
}
