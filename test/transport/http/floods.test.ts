import { connect as connectH2 } from "node:http2";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until as eventually } from "../../support/until.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, get, header, openFrames } from "../support/frames.ts";
import { openSocket, readToEnd, until } from "../support/raw.ts";
import { type Running, startStandIn } from "../support/stand-in.ts";

const AUTH = "Bearer mgmt.read";
const LIST = "/api/v1/mcp-servers";

let running: Running;

beforeEach(async () => {
  running = await startStandIn({
    portLimits: { headerTimeoutMs: 1_000, keepAliveTimeoutMs: 1_000, stallTimeoutMs: 1_000 },
  });
});
afterEach(async () => {
  // The server still serves other clients after the attack; aborted requests need a moment to release their slots.
  await eventually(async () => (await fetch(running.url + LIST, { headers: { authorization: AUTH } })).status === 200);
  expect(running.logged).toEqual([]);
  await running.stop();
});

describe("attacks that close an HTTP/2 connection", () => {
  test("closes a connection that continues a header block without end (CVE-2024-27316)", async () => {
    const { closed, send, socket } = await openFrames(running.port);
    send(frame(FRAME.headers, END_STREAM, 1, get("/healthz")));
    const filler = frame(
      FRAME.continuation,
      0,
      1,
      Buffer.concat(Array.from({ length: 100 }, () => header("a", "b".repeat(100)))),
    );
    const flood = setInterval(() => send(...Array.from({ length: 50 }, () => filler)), 1);
    await closed;
    clearInterval(flood);
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
    expect(running.seen.requests).toEqual([]);
  });

  test("closes a connection that sends pings and does not read the replies (CVE-2019-9512)", async () => {
    const { closed, send, socket } = await openFrames(running.port);
    socket.pause();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))));
    const flood = setInterval(() => send(...Array.from({ length: 20 }, () => pings)), 1);
    // A paused socket reports its close only after it resumes reading.
    const look = setInterval(() => socket.resume().pause(), 250);
    await closed;
    clearInterval(flood);
    clearInterval(look);
  });

  test("closes a connection that floods SETTINGS frames and does not read the replies (CVE-2019-9515)", async () => {
    const { closed, send, socket } = await openFrames(running.port);
    socket.pause();
    const settings = Buffer.concat(Array.from({ length: 1_000 }, () => frame(FRAME.settings, 0, 0)));
    const flood = setInterval(() => send(...Array.from({ length: 20 }, () => settings)), 1);
    const look = setInterval(() => socket.resume().pause(), 250);
    await closed;
    clearInterval(flood);
    clearInterval(look);
  });

  test("closes a connection that sends too many settings in one frame", async () => {
    const { closed, send } = await openFrames(running.port);
    const one = Buffer.from([0, 0x7f, 0, 0, 0, 1]);
    send(frame(FRAME.settings, 0, 0, Buffer.concat(Array.from({ length: 200 }, () => one))));
    await closed;
  });

  test("closes a connection that opens and resets streams rapidly (CVE-2023-44487)", async () => {
    const { closed, send, received } = await openFrames(running.port);
    const block = get(`${LIST}/600`, header("authorization", AUTH));
    for (let stream = 1; stream < 4_000; stream += 2) {
      send(
        frame(FRAME.headers, END_STREAM | END_HEADERS, stream, block),
        frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
      );
    }
    await closed;
    expect(received).toContain(FRAME.goaway);
    expect(running.seen.requests.length).toBeLessThan(600);
    await until(() => running.seen.signals.every((signal) => signal.aborted));
  });

  test("closes a connection that violates the framing", async () => {
    for (const wrong of [
      frame(FRAME.ping, 0, 0, Buffer.alloc(7)),
      frame(FRAME.data, 0, 0, Buffer.alloc(1)),
      frame(FRAME.continuation, 0, 1),
      frame(FRAME.headers, END_HEADERS, 2, get("/healthz")),
      frame(FRAME.windowUpdate, 0, 0, Buffer.alloc(4)),
      frame(FRAME.settings, 0, 1),
      Buffer.alloc(9, 0xff),
    ]) {
      const { closed, send } = await openFrames(running.port);
      send(wrong);
      await closed;
    }
  });

  test("closes a connection that never opens the flow control window for its responses", async () => {
    const { closed, send } = await openFrames(running.port);
    // The initial window size is zero, so no stream can carry data to this client, which sends a hundred requests and
    // waits.
    send(frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])));
    const block = get(LIST, header("authorization", AUTH));
    for (let stream = 1; stream < 200; stream += 2) send(frame(FRAME.headers, END_STREAM | END_HEADERS, stream, block));
    await until(() => running.seen.requests.length > 50);
    await closed;
  });
});

describe("attacks that close an HTTP/1.1 connection", () => {
  test("closes a connection that pipelines requests and never reads a response", async () => {
    const socket = await openSocket(running.port);
    socket.pause();
    const large = JSON.stringify({ name: "large", arguments: {} });
    const request = `POST /mcp/tools/call HTTP/1.1\r\nhost: a\r\nauthorization: Bearer mcp.write\r\nx-session-id: s\r\ncontent-type: application/json\r\ncontent-length: ${large.length}\r\n\r\n${large}`;
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket.write(request.repeat(4_000));
    await until(() => running.seen.requests.length > 10);
    const asked = (): number => running.seen.requests.length;
    // The server stops reading requests while it cannot send responses, and then closes the connection.
    const look = setInterval(() => socket.write(" "), 100);
    await closed;
    clearInterval(look);
    expect(asked()).toBeLessThan(4_000);
  }, 20_000);

  test("closes a connection that sends its headers too slowly", async () => {
    const socket = await openSocket(running.port);
    const answer = readToEnd(socket);
    socket.write("GET /healthz HTTP/1.1\r\n");
    const drip = setInterval(() => socket.write("a: b\r\n"), 100);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(drip);
  });

  test("closes a connection that sends 10,000 headers", async () => {
    const socket = await openSocket(running.port);
    const answer = readToEnd(socket);
    socket.write(`GET ${LIST} HTTP/1.1\r\nhost: a\r\n${"a: b\r\n".repeat(10_000)}\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("closes a connection that sends endless chunk extensions", async () => {
    const socket = await openSocket(running.port);
    const answer = readToEnd(socket);
    socket.write(
      `POST ${LIST} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer mgmt.write\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1;`,
    );
    const flood = setInterval(() => socket.write("a".repeat(65_536)), 1);
    expect(await answer).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
    clearInterval(flood);
  });
});

test("answers pipelined requests of one connection in order", async () => {
  const socket = await openSocket(running.port);
  const answer = readToEnd(socket);
  const asked = Array.from(
    { length: 500 },
    (_, index) => `GET ${LIST}/${index + 1_000} HTTP/1.1\r\nhost: a\r\nauthorization: ${AUTH}\r\n\r\n`,
  );
  socket.write(`${asked.join("")}GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
  // The concurrency limiter rejects all but the first few hundred requests.
  const statuses = (await answer).match(/HTTP\/1\.1 \d+/g) ?? [];
  expect(statuses).toHaveLength(501);
  expect(new Set(statuses)).toEqual(new Set(["HTTP/1.1 200", "HTTP/1.1 503"]));
  expect([statuses[0], statuses.at(-1)]).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
});

test.each([
  [
    "Authorization twice",
    [
      ["authorization", AUTH],
      ["authorization", "Bearer mgmt.admin"],
    ],
  ],
  [
    "a Host header that differs from :authority",
    [
      ["host", "b"],
      ["authorization", AUTH],
    ],
  ],
] as const)("rejects an HTTP/2 request with %s", async (_, fields) => {
  const { send, received, socket } = await openFrames(running.port);
  send(
    frame(FRAME.headers, END_STREAM | END_HEADERS, 1, get(LIST, ...fields.map(([name, value]) => header(name, value)))),
  );
  await until(() => received.includes(FRAME.headers) || received.includes(FRAME.reset));
  expect(running.seen.requests).toEqual([]);
  socket.destroy();
});

test("repeated attacks do not increase memory use", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  const heapMb = async (): Promise<number> => {
    for (let count = 0; count < 3; count += 1) {
      if (typeof collect === "function") Reflect.apply(collect, undefined, []);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return process.memoryUsage().heapUsed / 2 ** 20;
  };
  const round = async (): Promise<void> => {
    const resetting = await openFrames(running.port);
    const block = get(`${LIST}/600`, header("authorization", AUTH));
    for (let stream = 1; stream < 2_000; stream += 2) {
      resetting.send(
        frame(FRAME.headers, END_STREAM | END_HEADERS, stream, block),
        frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
      );
    }
    await resetting.closed;
    const sessions = Array.from({ length: 50 }, () => connectH2(running.url));
    for (const session of sessions)
      session
        .on("error", () => undefined)
        .request({ ":path": LIST, authorization: AUTH })
        .on("error", () => undefined);
    for (const session of sessions) session.destroy();
    const sockets = await Promise.all(Array.from({ length: 100 }, () => openSocket(running.port)));
    for (const socket of sockets) socket.write("GET / HTTP/1.1\r\nhost:");
    for (const socket of sockets) socket.destroy();
    running.seen.requests.length = 0;
    running.seen.signals.length = 0;
  };
  for (let count = 0; count < 3; count += 1) await round();
  const before = await heapMb();
  for (let count = 0; count < 15; count += 1) await round();
  await eventually(async () => (await heapMb()) - before < 6, {
    what: "a heap that is less than 6 MB larger than before",
  });
});
