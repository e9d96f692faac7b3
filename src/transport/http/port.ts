import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  createServer as createH2Server,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { HttpExchange } from "./exchange.ts";
import { H1Exchange } from "./h1-exchange.ts";
import { H2Exchange } from "./h2-exchange.ts";
import { protocolOf } from "./preface.ts";
import { guardAgainstResets } from "./reset-flood.ts";
import { HEADERS_TOO_LARGE, refuseMalformed } from "./refuse-malformed.ts";
import { createWriteBatching } from "./write-batching.ts";
import { answerDetail } from "./answer.ts";

/** Limits of a connection (DESIGN §8). Times in milliseconds, sizes in bytes. */
export interface PortLimits {
  readonly maxHeaderBytes: number;
  readonly headerTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /**
   * Maximum silence of a connection with active requests, which detects a peer that stopped reading. Streams have
   * heartbeats.
   */
  readonly stallTimeoutMs: number;
  readonly maxStreamsPerSession: number;
  /** Maximum stream resets per HTTP/2 session within ten seconds. */
  readonly maxResetsPerSession: number;
}

/** The limits of DESIGN §8. */
const PORT_LIMITS: PortLimits = {
  maxHeaderBytes: 16 * 1024,
  headerTimeoutMs: 10_000,
  requestTimeoutMs: 40_000,
  keepAliveTimeoutMs: 65_000,
  stallTimeoutMs: 90_000,
  maxStreamsPerSession: 100,
  maxResetsPerSession: 200,
};

export interface PortDeps {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** PEM texts. If set, the port uses TLS and ALPN selects the protocol. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly handler: (exchange: HttpExchange) => void;
  readonly limits?: Partial<PortLimits>;
}

/** One listener for HTTP/1.1 and HTTP/2. */
export interface Port {
  /** Resolves with the port number once connections are accepted. */
  listen(): Promise<{ readonly port: number }>;
  /**
   * Asks HTTP/1.1 clients to use another connection for their next request. Still accepts all connections and serves
   * all requests.
   */
  discourage(): void;
  /** Stops accepting, waits up to the grace period for active requests, then closes the rest. */
  close(graceMs: number): Promise<void>;
}

const RESET_WINDOW_MS = 10_000;
const KEEP_ALIVE_PROBE_MS = 60_000;

/** Creates the port. It listens only after `listen`. */
export function createPort(deps: PortDeps): Port {
  const limits: PortLimits = { ...PORT_LIMITS, ...deps.limits };
  const sockets = new Set<Socket>();
  const undecided = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let isDiscouraged = false;
  let isDraining = false;

  const h1 = createH1(deps, limits);
  const serveH1 = takeConnectionListener(h1, deps.tls === undefined ? "connection" : "secureConnection");
  const h2 = createH2(deps, limits);
  h2.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    if (isDraining) session.close();
  });

  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", ignore);
  };
  const serve = (socket: Socket, protocol: "h2" | "http1"): void => {
    if (protocol === "http1") {
      serveH1(socket);
      return;
    }
    // HTTP/1.1 responds to a half-closed peer; an HTTP/2 peer that stops sending has disconnected.
    socket.allowHalfOpen = false;
    h2.emit("connection", socket);
  };

  if (deps.tls === undefined) {
    h1.on("connection", (socket: Socket) => {
      accept(socket);
      undecided.add(socket);
      socket.once("close", () => undecided.delete(socket));
      peek(socket, limits.headerTimeoutMs, (protocol) => {
        undecided.delete(socket);
        serve(socket, protocol);
      });
    });
  } else {
    h1.on("secureConnection", (socket: TLSSocket) => {
      accept(socket);
      serve(socket, socket.alpnProtocol === "h2" ? "h2" : "http1");
    });
  }
  const batching = createWriteBatching();
  const onRequest = (awaitsContinue: boolean) => (request: IncomingMessage, response: ServerResponse) => {
    if (isDiscouraged) response.shouldKeepAlive = false;
    deps.handler(new H1Exchange(request, response, awaitsContinue, batching));
  };
  h1.on("request", onRequest(false));
  h1.on("checkContinue", onRequest(true));

  return {
    listen: () =>
      new Promise((resolve, reject) => {
        h1.once("error", reject);
        h1.listen({ host: deps.host, port: deps.port, backlog: 1024 }, () => {
          h1.off("error", reject);
          h1.on("error", ignore);
          resolve({ port: portOf(h1.address()) });
        });
      }),
    discourage() {
      isDiscouraged = true;
    },
    close: async (graceMs) => {
      isDiscouraged = true;
      isDraining = true;
      const closed = new Promise<void>((resolve) => {
        h1.close(() => {
          resolve();
        });
      });
      for (const socket of undecided) socket.destroy();
      for (const session of sessions) session.close();
      const idleSweep = setInterval(() => {
        h1.closeIdleConnections();
      }, 50);
      const bound = setTimeout(() => {
        for (const session of sessions) session.destroy();
        for (const socket of sockets) socket.destroy();
      }, graceMs);
      await closed;
      clearInterval(idleSweep);
      clearTimeout(bound);
    },
  };
}

function createH1(deps: PortDeps, limits: PortLimits): Server {
  const options = {
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headerTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headerTimeoutMs),
    noDelay: true,
    // Detects a peer that disappeared silently; otherwise its stream would stay forever.
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
  };
  const server =
    deps.tls === undefined
      ? createServer(options)
      : createTlsServer({
          ...options,
          ...deps.tls,
          ALPNProtocols: ["h2", "http/1.1"],
          handshakeTimeout: limits.headerTimeoutMs,
        });
  server.timeout = limits.stallTimeoutMs;
  server.on("clientError", refuseMalformed);
  return server;
}

function createH2(deps: PortDeps, limits: PortLimits): Http2Server {
  const server = createH2Server({
    settings: { maxConcurrentStreams: limits.maxStreamsPerSession, maxHeaderListSize: limits.maxHeaderBytes },
    maxSendHeaderBlockLength: 64 * 1024,
    maxSessionInvalidFrames: 100,
    maxSettings: 32,
  });
  server.on("session", (session) => {
    session.on("error", ignore);
    const idleMs = guardAgainstResets(session, {
      maxResets: limits.maxResetsPerSession,
      windowMs: RESET_WINDOW_MS,
    });
    // Uses its own timer, because session.setTimeout keeps a destroyed session in memory until it fires.
    const stalledMs = watchTraffic(session);
    const idleCheck = setInterval(
      () => {
        if (idleMs() >= limits.keepAliveTimeoutMs) session.close();
        if (stalledMs() >= limits.stallTimeoutMs) session.destroy();
      },
      Math.ceil(limits.keepAliveTimeoutMs / 2),
    );
    idleCheck.unref();
    session.once("close", () => {
      clearInterval(idleCheck);
    });
  });
  server.on("sessionError", ignore);
  server.on(
    "stream",
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, rawHeaders: string[]) => {
      const exchange = new H2Exchange(stream, headers, flags, rawHeaders);
      // The setting above only advises the peer; this enforces it.
      if (sizeOf(rawHeaders) > limits.maxHeaderBytes)
        answerDetail(exchange, 431, "HEADERS_TOO_LARGE", HEADERS_TOO_LARGE);
      else deps.handler(exchange);
    },
  );
  return server;
}

/** Returns a function that reports how long a session's connection has been silent, in milliseconds. */
function watchTraffic({ socket }: ServerHttp2Session): () => number {
  let carried = 0;
  let since = Date.now();
  return () => {
    const now = socket.bytesRead + socket.bytesWritten;
    if (now !== carried) since = Date.now();
    carried = now;
    return Date.now() - since;
  };
}

/** Node's own listener serves HTTP/1.1; it is called once the protocol of a connection is known. */
function takeConnectionListener(server: Server, event: string): (socket: Socket) => void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  return (socket) => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
}

/** Detects the protocol from the first bytes of a connection, in any number of chunks, and puts them back. */
function peek(socket: Socket, timeoutMs: number, decide: (protocol: "h2" | "http1") => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("data", onData).off("close", stop).off("end", onEnd);
  };
  const onEnd = (): void => {
    stop();
    socket.destroy();
  };
  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === "unknown") return;
    stop();
    socket.pause();
    socket.unshift(seen);
    decide(protocol);
    if (protocol === "http1") socket.resume();
  };
  socket.on("data", onData).on("close", stop).on("end", onEnd);
}

function sizeOf(rawHeaders: readonly string[]): number {
  let size = 0;
  for (const text of rawHeaders) size += text.length;
  return size;
}

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === "string") throw new Error("The port has no number.");
  return address.port;
}

function ignore(): void {
  // A broken connection closes; the close event is handled.
}
