import { connect as connectH2, constants } from "node:http2";
import { request } from "node:https";
import { afterEach, describe, expect, test } from "vitest";
import { createSelfSigned } from "../../support/self-signed.ts";
import { startStandIn, type Running } from "../support/stand-in.ts";
import { openSocket, pause, readToEnd, sendRaw, until } from "../support/raw.ts";

const AUTH = "Bearer mgmt.read,mgmt.write";

let running: Running | undefined;

async function start(...options: Parameters<typeof startStandIn>): Promise<Running> {
  running = await startStandIn(...options);
  return running;
}

afterEach(async () => {
  await running?.stop(100);
  running = undefined;
});

describe("one port", () => {
  test("serves HTTP/1.1 and cleartext HTTP/2 on the same port", async () => {
    const { url } = await start();
    const h1 = await fetch(`${url}/healthz`);
    expect(h1.status).toBe(200);
    expect(await h2Get(url, "/healthz")).toEqual({ status: 200, body: '{"status":"ok"}' });
  });

  test("accepts an HTTP/2 preface that arrives byte by byte", async () => {
    const { port } = await start();
    const socket = await openSocket(port);
    const firstFrame = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    for (const byte of Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) {
      socket.write(Buffer.of(byte));
      await pause(2);
    }
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    expect((await firstFrame)[3]).toBe(4); // A SETTINGS frame.
    socket.destroy();
  });

  test("accepts an HTTP/1.1 request that arrives byte by byte", async () => {
    const { port } = await start();
    const socket = await openSocket(port);
    const answer = readToEnd(socket);
    for (const byte of Buffer.from("POST /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")) {
      socket.write(Buffer.of(byte));
      await pause(1);
    }
    expect(await answer).toMatch(/^HTTP\/1\.1 405 /);
  });

  test("answers concurrent requests on several connections, in order on each connection", async () => {
    const { port } = await start();
    const targets = Array.from({ length: 20 }, (_, index) => (index % 3 === 0 ? "/healthz" : "/nowhere"));
    const requests = targets.map((target, index) => {
      const isLast = index === targets.length - 1;
      return `GET ${target} HTTP/1.1\r\nhost: a\r\n${isLast ? "connection: close\r\n" : ""}\r\n`;
    });
    const sockets = await Promise.all(Array.from({ length: 30 }, () => openSocket(port)));
    const answers = sockets.map(readToEnd);
    for (const socket of sockets) socket.write(requests.join(""));
    const expected = targets.map((target) => (target === "/healthz" ? "200" : "404"));
    for (const answer of await Promise.all(answers)) {
      expect([...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)).toEqual(expected);
    }
  });

  test("a client that disconnects before its response does not delay other clients", async () => {
    const { port, url } = await start();
    const leaving = await Promise.all(Array.from({ length: 30 }, () => openSocket(port)));
    for (const socket of leaving)
      socket.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n", () => socket.resetAndDestroy());
    const staying = await Promise.all(Array.from({ length: 10 }, () => fetch(`${url}/healthz`)));
    expect(staying.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  });

  test("serves HTTP/1.1 and HTTP/2 over TLS, selected by ALPN", async () => {
    const tls = createSelfSigned();
    tls.remove();
    const { url, port } = await start({ tls });
    expect(await h2Get(url, "/healthz", { rejectUnauthorized: false })).toMatchObject({ status: 200 });
    const status = await new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false }, (response) => {
        resolve(response.resume().statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
  });
});

describe("connection limits", () => {
  test("closes the connection of a client that sends nothing", async () => {
    const { port } = await start({ portLimits: { headerTimeoutMs: 100 } });
    expect(await readToEnd(await openSocket(port))).toBe("");
  });

  test("closes the connection of a client that stalls within the HTTP/2 preface", async () => {
    const { port } = await start({ portLimits: { headerTimeoutMs: 100 } });
    expect(await sendRaw(port, "PRI * HT")).toBe("");
  });

  test("returns 408 to a client that stalls within its headers", async () => {
    const { port } = await start({ portLimits: { headerTimeoutMs: 100 } });
    expect(await sendRaw(port, "GET /healthz HTTP/1.1\r\nhost: a\r\n")).toMatch(/^HTTP\/1\.1 408 [^]*"detail"/);
  });

  test("returns 408 to a client that stalls within its body, and closes the connection", async () => {
    const { port } = await start({ portLimits: { headerTimeoutMs: 100, requestTimeoutMs: 300 } });
    const answer = await sendRaw(
      port,
      `POST /api/v1/mcp-servers HTTP/1.1\r\nhost: a\r\nauthorization: ${AUTH}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("returns 431 for headers over 16 KiB over HTTP/1.1", async () => {
    const { port } = await start();
    const answer = await sendRaw(port, `GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${"y".repeat(17_000)}\r\n\r\n`);
    expect(answer).toMatch(
      /^HTTP\/1\.1 431 [^]*\{"detail":"The request headers are too large\.","code":"HEADERS_TOO_LARGE"\}$/,
    );
  });

  test("rejects headers over 16 KiB over HTTP/2", async () => {
    const { url } = await start();
    await expect(h2Get(url, "/healthz", {}, { x: "y".repeat(20_000) })).resolves.not.toMatchObject({ status: 200 });
  });

  test("accepts an absolute URL as the request target", async () => {
    const { port } = await start();
    const answer = await sendRaw(port, "GET http://a/healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("returns 400 with a detail for malformed HTTP", async () => {
    const { port } = await start();
    expect(await sendRaw(port, "HELLO\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [^]*"detail"/);
  });

  test.each(["host: a\r\nhost: b", "host: a\r\nAuthorization: Bearer mgmt.read\r\nauthorization: Bearer mgmt.admin"])(
    "rejects the duplicate headers %j",
    async (headers) => {
      const { port } = await start();
      const answer = await sendRaw(port, `GET /api/v1/mcp-servers HTTP/1.1\r\n${headers}\r\nconnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*must each be given once/);
    },
  );

  test("rejects a request with both Content-Length and Transfer-Encoding", async () => {
    const { port } = await start();
    const answer = await sendRaw(
      port,
      "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("allows 100 concurrent streams per HTTP/2 session", async () => {
    const { url } = await start();
    const session = connectH2(url);
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(100);
    session.destroy();
  });

  test("closes an idle HTTP/2 session and keeps a session with an open stream", async () => {
    const { url, seen } = await start({ portLimits: { keepAliveTimeoutMs: 100 } });
    const idle = connectH2(url);
    await new Promise((resolve) => idle.once("close", resolve));
    const busy = connectH2(url);
    let isClosed = false;
    busy.once("close", () => (isClosed = true));
    busy.request({ ":path": "/api/v1/mcp-servers/7/events", authorization: AUTH }).resume();
    await until(() => seen.signals.length === 1);
    await pause(300);
    expect(isClosed).toBe(false);
    busy.destroy();
    await until(() => seen.signals[0]?.aborted === true);
  });

  test("closes an HTTP/2 session that keeps resetting streams", async () => {
    const { url } = await start({ portLimits: { maxResetsPerSession: 20 } });
    const session = connectH2(url);
    session.on("error", () => undefined);
    let closed = false;
    session.once("close", () => (closed = true));
    for (let count = 0; count < 60 && !closed; count += 1) {
      const stream = session.request({ ":path": "/api/v1/mcp-servers/600", authorization: AUTH });
      stream.on("error", () => undefined);
      await pause(2);
      stream.close(constants.NGHTTP2_CANCEL);
    }
    await until(() => closed);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });
});

describe("clients that disconnect or stall", () => {
  test("recovers from an HTTP/1.1 upload that disconnects midway", async () => {
    const { url, port, logged } = await start();
    const head = `POST /api/v1/mcp-servers HTTP/1.1\r\nhost: a\r\nauthorization: ${AUTH}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`;
    for (let count = 0; count < 20; count += 1) {
      const socket = await openSocket(port);
      socket.write(head);
      await pause(1);
      if (count % 2 === 0) socket.destroy();
      else socket.end();
    }
    await pause(50);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(logged).toEqual([]);
  });

  test("recovers from an HTTP/2 upload that disconnects midway", async () => {
    const { url, logged } = await start();
    const session = connectH2(url);
    const stream = session.request({
      ":method": "POST",
      ":path": "/api/v1/mcp-servers",
      authorization: AUTH,
      "content-type": "application/json",
    });
    stream.on("error", () => undefined);
    stream.write("{");
    await pause(20);
    session.destroy();
    await pause(20);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(logged).toEqual([]);
  });

  test("aborts the signal of the handler when the client disconnects", async () => {
    const { url, seen, logged } = await start();
    const caller = new AbortController();
    const answer = fetch(`${url}/api/v1/mcp-servers/600`, { headers: { authorization: AUTH }, signal: caller.signal });
    await until(() => seen.signals.length === 1);
    caller.abort();
    await expect(answer).rejects.toThrow();
    await until(() => seen.signals[0]?.aborted === true);
    expect(logged).toEqual([]);
  });

  test("responds to a client that waits for 100-continue when it rejects the body", async () => {
    const { port } = await start();
    const answer = await sendRaw(
      port,
      "POST /api/v1/mcp-servers HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  });
});

describe("closing the server", () => {
  test("answers active requests and accepts no new requests while it closes", async () => {
    const { url, seen, listener } = await start({ portLimits: { headerTimeoutMs: 1_000 } });
    const slow = fetch(`${url}/api/v1/mcp-servers/600`, { headers: { authorization: AUTH } });
    await until(() => seen.signals.length === 1);
    const closed = listener.close(300);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    await closed;
    await expect(slow).rejects.toThrow(); // The response never ends, so only the grace period closes it.
  });

  test("an idle HTTP/2 session does not delay closing", async () => {
    const { url, listener } = await start();
    const session = connectH2(url);
    await new Promise((resolve) => session.once("remoteSettings", resolve));
    const goaway = new Promise((resolve) => session.once("goaway", resolve));
    await listener.close(10_000);
    await goaway;
  });

  test("a draining port still serves requests, and asks HTTP/1.1 clients to close their connections", async () => {
    const { url, listener } = await start();
    expect((await fetch(`${url}/healthz`)).headers.get("connection")).toBe("keep-alive");
    listener.discourage();
    const answer = await fetch(`${url}/healthz`);
    expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
    expect((await h2Get(url, "/healthz")).status).toBe(200);
  });

  test("ends open event streams when the server closes", async () => {
    const server = await start();
    const answer = await fetch(`${server.url}/api/v1/mcp-servers/7/events`, { headers: { authorization: AUTH } });
    const text = answer.text();
    await until(() => server.seen.signals.length === 1);
    await server.stop(10_000);
    expect(await text).toMatch(/event: snapshot\n/);
  });
});

interface H2Answer {
  readonly status: number | undefined;
  readonly body: string;
}

function h2Get(
  url: string,
  path: string,
  options: object = {},
  headers: Record<string, string> = {},
): Promise<H2Answer> {
  return new Promise((resolve) => {
    const session = connectH2(url, options);
    const fail = (): void => {
      session.destroy();
      resolve({ status: undefined, body: "" });
    };
    session.on("error", fail);
    const stream = session.request({ ":path": path, ...headers });
    let status: number | undefined;
    let body = "";
    stream.setEncoding("utf8");
    stream.on("error", fail);
    stream.on("response", (fields) => (status = fields[":status"]));
    stream.on("data", (chunk: string) => (body += chunk));
    stream.on("close", () => {
      session.close();
      resolve({ status, body });
    });
    stream.end();
  });
}
