import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type LookupFunction, Socket } from "node:net";
import type { LookupAddress } from "node:dns";
import tls from "node:tls";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Dispatcher } from "undici";
import { OutboundRefused } from "../../src/integrations/outbound-refused.ts";
import { FORBIDDEN, REBINDING } from "./forbidden.ts";
import { createGuardedDispatcher } from "../../src/outbound/guarded-dispatcher.ts";

let connects: ReturnType<typeof vi.spyOn>;
let dispatcher: Dispatcher | undefined;
beforeEach(() => {
  connects = vi.spyOn(Socket.prototype, "connect");
});
afterEach(async () => {
  await dispatcher?.destroy();
  vi.restoreAllMocks();
});

describe("no connection is opened to", () => {
  for (const scheme of ["https", "http"]) {
    it.each(FORBIDDEN)(`%s by ${scheme} (%s)`, async (_form, host, reason) => {
      const { lookup, asked } = resolver({});
      dispatcher = createGuardedDispatcher({ allow: [], lookup });
      const failure = await failureOf(get(dispatcher, `${scheme}://${host}/`));
      expect(failure).toBeInstanceOf(OutboundRefused);
      expect(failure.message).toMatch(reason);
      expect(failure.message).toContain("OUTBOUND_ALLOW");
      expect(connects).not.toHaveBeenCalled();
      expect(asked()).toEqual([]);
    });
  }

  it("a public host by plain http, which would expose a key", async () => {
    const { lookup, asked } = resolver({});
    dispatcher = createGuardedDispatcher({ allow: [], lookup });
    const failure = await failureOf(get(dispatcher, "http://example.com/"));
    expect(failure.message).toMatch(/unencrypted/);
    expect(asked()).toEqual([]);
  });

  it.each(["http://10.0.0.1:22/", "http://127.0.0.1:8081/", "https://other.example:8443/"])(
    "a port or host that is not on the allow list (%s)",
    async (url) => {
      const { lookup } = resolver({ "other.example": ["127.0.0.1"] });
      dispatcher = createGuardedDispatcher({ allow: ["10.0.0.1:80", "127.0.0.1:8080"], lookup });
      expect(await failureOf(get(dispatcher, url))).toBeInstanceOf(OutboundRefused);
    },
  );
});

describe("no connection is opened to a name that resolves to a forbidden address", () => {
  it.each(REBINDING)("%s", async (_form, addresses) => {
    const { lookup, asked } = resolver({ "rebind.example": addresses });
    dispatcher = createGuardedDispatcher({ allow: [], lookup });
    const opened = watchOpened();
    const failure = await failureOf(get(dispatcher, "https://rebind.example/"));
    expect(failure).toBeInstanceOf(OutboundRefused);
    expect(failure.message).toMatch(/its name leads to/);
    for (const address of addresses) expect(failure.message).not.toContain(address);
    expect(asked()).toEqual(["rebind.example"]);
    expect(opened()).toBe(0);
  });

  it("even if an earlier lookup of the name returned an allowed address", async () => {
    const permitted = createTcpServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
    await once(permitted, "listening");
    const port = portOf(permitted);
    let accepted = 0;
    const forbidden = createTcpServer(() => (accepted += 1)).listen(port, "127.0.0.2");
    await once(forbidden, "listening");
    const answers = [["127.0.0.1"], ["127.0.0.2"]];
    const lookup: LookupFunction = (_name, options, callback) =>
      reply(answers.shift() ?? [], options.all === true, callback);
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`], lookup });
    expect(await failureOf(get(dispatcher, `https://rebind.example:${port}/`))).not.toBeInstanceOf(OutboundRefused);
    expect(await failureOf(get(dispatcher, `https://rebind.example:${port}/`))).toBeInstanceOf(OutboundRefused);
    expect(accepted).toBe(0);
    permitted.close();
    forbidden.close();
  });

  it("and a connection is closed if its peer differs from the looked-up address", async () => {
    // Pre-shared keys avoid the need for a certificate.
    const psk = Buffer.from("d731ef57be09e5204f0b205b60627028", "hex");
    const common = { ciphers: "PSK", maxVersion: "TLSv1.2" } as const;
    let received = 0;
    const server = tls.createServer({ ...common, pskCallback: () => psk }, (socket) => {
      socket.on("data", (chunk) => (received += chunk.length));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    // Simulates a transparent proxy: the connection to 8.8.8.8 reaches this machine.
    const connect = tls.connect;
    vi.spyOn(tls, "connect").mockImplementation((options: unknown) =>
      connect({
        ...(options as tls.ConnectionOptions),
        ...common,
        host: "127.0.0.1",
        port: portOf(server),
        pskCallback: () => ({ psk, identity: "test" }),
        checkServerIdentity: () => undefined,
      }),
    );
    const { lookup } = resolver({ "peer.example": ["8.8.8.8"] });
    dispatcher = createGuardedDispatcher({ allow: [], lookup });
    const failure = await failureOf(get(dispatcher, "https://peer.example/"));
    expect(failure).toBeInstanceOf(OutboundRefused);
    expect(failure.message).toMatch(/loopback/);
    expect(received).toBe(0);
    server.close();
  });
});

describe("an allowed destination", () => {
  let server: Server;
  let seen: string[];
  beforeAll(async () => {
    server = createServer((request, response) => {
      seen.push(request.url ?? "");
      if (request.url === "/redirect") response.writeHead(302, { location: "/target" }).end();
      else response.end("fine");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  beforeEach(() => {
    seen = [];
  });
  afterAll(() => server.close());

  it("can be reached by address and by name", async () => {
    const port = portOf(server);
    const { lookup } = resolver({ "internal.example": ["127.0.0.1"] });
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`, `internal.example:${port}`], lookup });
    for (const host of ["127.0.0.1", "internal.example"]) {
      const { statusCode, body } = await get(dispatcher, `http://${host}:${port}/`);
      expect([statusCode, await body.text()]).toEqual([200, "fine"]);
    }
  });

  it("cannot redirect: the redirect is returned as the response", async () => {
    const port = portOf(server);
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`] });
    const { statusCode, body } = await get(dispatcher, `http://127.0.0.1:${port}/redirect`);
    await body.dump();
    expect(statusCode).toBe(302);
    expect(seen).toEqual(["/redirect"]);
  });

  it("is not reached through a proxy of the environment", async () => {
    vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:9");
    const port = portOf(server);
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`] });
    const { statusCode, body } = await get(dispatcher, `http://127.0.0.1:${port}/`);
    await body.dump();
    expect(statusCode).toBe(200);
    vi.unstubAllEnvs();
  });
});

it("rejects an invalid allow-list entry", () => {
  expect(() => createGuardedDispatcher({ allow: ["example.com"] })).toThrow(
    'OUTBOUND_ALLOW: "example.com" is not host:port',
  );
});

function get(through: Dispatcher, url: string): Promise<Dispatcher.ResponseData> {
  const { origin, pathname } = new URL(url);
  return through.request({ origin, path: pathname, method: "GET" });
}

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("it was not refused"),
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
}

/** A resolver with fixed results, and the names it was asked for. */
function resolver(table: Readonly<Record<string, readonly string[]>>): {
  lookup: LookupFunction;
  asked: () => readonly string[];
} {
  const names: string[] = [];
  return {
    lookup: (name, options, callback) => {
      names.push(name);
      reply(table[name] ?? [], options.all === true, callback);
    },
    asked: () => names,
  };
}

function reply(addresses: readonly string[], all: boolean, callback: Parameters<LookupFunction>[2]): void {
  const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const [first] = found;
  if (first === undefined) callback(Object.assign(new Error("not found"), { code: "ENOTFOUND" }), "", 0);
  else if (all) callback(null, found);
  else callback(null, first.address, first.family);
}

/** Counts connection attempts after the lookup. */
function watchOpened(): () => number {
  let opened = 0;
  const emit: (this: Socket, ...args: unknown[]) => boolean = Reflect.get(Socket.prototype, "emit");
  vi.spyOn(Socket.prototype, "emit").mockImplementation(function (this: Socket, ...args: unknown[]) {
    if (args[0] === "connect" || args[0] === "connectionAttempt") opened += 1;
    return emit.apply(this, args);
  });
  return () => opened;
}

function portOf(server: { address(): unknown }): number {
  const address = server.address() as { port: number };
  return address.port;
}
