import { once } from "node:events";
import { createServer, request as requestH1, type IncomingMessage, type ServerResponse } from "node:http";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer as createH2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Server } from "node:net";

/** Headers that belong to one HTTP/2 connection or that HTTP/2 forbids. */
const HOP_HEADERS = new Set(["connection", "keep-alive", "transfer-encoding"]);

/**
 * A load balancer that forwards each request to a replica whose `/readyz` returns 200, in turn. It never repeats a request, so
 * every failure of a replica reaches the client.
 */
export interface Balancer {
  /** For HTTP/1.1. */
  readonly url: string;
  /** For HTTP/2 without TLS. */
  readonly h2Url: string;
  add(replicaUrl: string): void;
  /** Sends no further request to a replica, and resolves when the running ones have ended, except event streams. */
  drain(replicaUrl: string): Promise<void>;
  /** The replicas that receive requests. */
  healthy(): readonly string[];
  close(): Promise<void>;
}

interface Target {
  readonly url: string;
  isHealthy: boolean;
  running: number;
  session: ClientHttp2Session | undefined;
}

export async function startBalancer(everyMs: number): Promise<Balancer> {
  const targets: Target[] = [];
  const incoming = new Set<ServerHttp2Session>();
  let turn = 0;
  const choose = (): Target | undefined => {
    const healthy = targets.filter(({ isHealthy }) => isHealthy);
    turn += 1;
    return healthy[turn % Math.max(healthy.length, 1)];
  };
  const h1 = createServer((request, response) => {
    const target = choose();
    if (target === undefined) response.writeHead(502, { "x-balancer": "no replica" }).end();
    else {
      // Event streams last until their replica ends them.
      if (request.headers.accept !== "text/event-stream") count(target, response);
      forwardH1(target, request, response);
    }
  });
  const h2 = createH2Server();
  h2.on("session", (session) => {
    incoming.add(session);
    session.once("close", () => incoming.delete(session));
  });
  h2.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on("error", () => undefined);
    const target = choose();
    if (target === undefined) stream.respond({ ":status": 502, "x-balancer": "no replica" }, { endStream: true });
    else {
      count(target, stream);
      forwardH2(target, stream, headers);
    }
  });
  const check = setInterval(() => {
    for (const target of targets) void checkHealth(target);
  }, everyMs);
  return {
    url: `http://127.0.0.1:${await listen(h1)}`,
    h2Url: `http://127.0.0.1:${await listen(h2)}`,
    add(url) {
      targets.push({ url, isHealthy: false, running: 0, session: undefined });
    },
    async drain(url) {
      const index = targets.findIndex((target) => target.url === url);
      const [target] = targets.splice(index, 1);
      while (target !== undefined && target.running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      target?.session?.close();
    },
    healthy: () => targets.filter(({ isHealthy }) => isHealthy).map(({ url }) => url),
    async close() {
      clearInterval(check);
      for (const { session } of targets) session?.destroy();
      for (const session of incoming) session.destroy();
      h1.closeAllConnections();
      await Promise.all([h1, h2].map((server) => new Promise((resolve) => void server.close(resolve))));
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function checkHealth(target: Target): Promise<void> {
  const answer = await fetch(`${target.url}/readyz`, { headers: { connection: "close" } }).catch(() => undefined);
  target.isHealthy = answer?.status === 200;
  await answer?.arrayBuffer().catch(() => undefined);
}

function count(target: Target, end: ServerResponse | ServerHttp2Stream): void {
  target.running += 1;
  end.once("close", () => {
    target.running -= 1;
  });
}

function forwardH1(target: Target, request: IncomingMessage, response: ServerResponse): void {
  const { method, url: path, headers } = request;
  const onward = requestH1(target.url, { method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  onward.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.on("close", () => onward.destroy());
  request.pipe(onward);
}

function sessionTo(target: Target): ClientHttp2Session {
  if (target.session !== undefined && !target.session.closed && !target.session.destroyed) return target.session;
  const session = connect(target.url);
  session.on("error", () => undefined);
  session.on("goaway", () => {
    if (target.session === session) target.session = undefined;
  });
  target.session = session;
  return session;
}

function forwardH2(target: Target, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const onward = sessionTo(target).request(headers);
  onward.on("error", () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  onward.on("response", (answer) => {
    const sent = Object.fromEntries(Object.entries(answer).filter(([name]) => !HOP_HEADERS.has(name)));
    stream.respond(sent, { waitForTrailers: true });
    let trailers: IncomingHttpHeaders = {};
    onward.on("trailers", (received) => {
      trailers = received;
    });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    onward.pipe(stream);
  });
  stream.on("close", () => onward.close());
  stream.pipe(onward);
}
