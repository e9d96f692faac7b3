import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type LookupFunction, Socket } from "node:net";
import type { LookupAddress } from "node:dns";
import tls from "node:tls";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Dispatcher } from "undici";
import { OutboundRefused } from "../../src/integrations/outbound-refused.ts";
import { createGuardedDispatcher } from "../../src/outbound/guarded-dispatcher.ts";

/** Every form of a destination that no call may reach, with what it is. */
const FORBIDDEN: readonly (readonly [form: string, host: string, reason: RegExp])[] = [
  ["loopback", "127.0.0.1", /loopback/],
  ["the far end of loopback", "127.255.255.254", /loopback/],
  ["decimal", "2130706433", /loopback/],
  ["hexadecimal", "0x7f000001", /loopback/],
  ["octal", "0177.0.0.1", /loopback/],
  ["mixed bases", "0x7f.0.0.01", /loopback/],
  ["short", "127.1", /loopback/],
  ["full-width digits", "①②⑦.0.0.1", /loopback/],
  ["a trailing dot", "127.0.0.1.", /loopback/],
  ["unspecified", "0.0.0.0", /unspecified/],
  ["this network", "0.1.2.3", /unspecified/],
  ["zero", "0", /unspecified/],
  ["private 10", "10.0.0.1", /private/],
  ["private 172", "172.31.255.255", /private/],
  ["private 192", "192.168.1.1", /private/],
  ["carrier-grade NAT", "100.64.0.1", /carrier-grade/],
  ["link-local", "169.254.1.1", /link-local/],
  ["metadata of AWS, GCP, Azure", "169.254.169.254", /metadata/],
  ["metadata of Azure's host", "168.63.129.16", /metadata/],
  ["metadata of Alibaba", "100.100.100.200", /metadata/],
  ["metadata of Oracle", "192.0.0.192", /metadata/],
  ["metadata of AWS by IPv6", "[fd00:ec2::254]", /metadata/],
  ["IETF protocols", "192.0.0.8", /reserved/],
  ["documentation", "192.0.2.1", /reserved/],
  ["benchmarks", "198.18.0.1", /reserved/],
  ["6to4 relays", "192.88.99.1", /reserved/],
  ["multicast", "224.0.0.1", /multicast/],
  ["reserved", "240.0.0.1", /reserved/],
  ["broadcast", "255.255.255.255", /reserved/],
  ["IPv6 loopback", "[::1]", /loopback/],
  ["IPv6 loopback, long", "[0:0:0:0:0:0:0:1]", /loopback/],
  ["IPv6 unspecified", "[::]", /unspecified/],
  ["IPv6 link-local", "[fe80::1]", /link-local/],
  ["IPv6 site-local", "[fec0::1]", /private/],
  ["IPv6 unique local", "[fd12:3456::1]", /private/],
  ["IPv6 multicast", "[ff02::1]", /multicast/],
  ["IPv6 documentation", "[2001:db8::1]", /reserved/],
  ["IPv6 discard", "[100::1]", /reserved/],
  ["mapped loopback", "[::ffff:127.0.0.1]", /loopback/],
  ["mapped loopback in hexadecimal", "[::ffff:7f00:1]", /loopback/],
  ["mapped metadata", "[::ffff:169.254.169.254]", /metadata/],
  ["mapped unspecified", "[::ffff:0:0]", /unspecified/],
  ["compatible loopback", "[::127.0.0.1]", /reserved/],
  ["translated loopback", "[::ffff:0:127.0.0.1]", /reserved/],
  ["NAT64 loopback", "[64:ff9b::127.0.0.1]", /loopback/],
  ["NAT64 private", "[64:ff9b::a00:1]", /private/],
  ["NAT64 unspecified", "[64:ff9b::]", /unspecified/],
  ["local NAT64", "[64:ff9b:1::7f00:1]", /reserved/],
  ["6to4 loopback", "[2002:7f00:1::]", /reserved/],
  ["Teredo", "[2001:0:7f00:1::]", /reserved/],
  ["localhost", "localhost", /loopback/],
  ["localhost in capitals", "LOCALHOST", /loopback/],
  ["localhost with a dot", "localhost.", /loopback/],
  ["a name under localhost", "api.localhost", /loopback/],
];

/** What a name may lead to that it must not. */
const REBINDING: readonly (readonly [form: string, addresses: readonly string[]])[] = [
  ["loopback", ["127.0.0.1"]],
  ["IPv6 loopback", ["::1"]],
  ["mapped loopback", ["::ffff:127.0.0.1"]],
  ["NAT64 metadata", ["64:ff9b::a9fe:a9fe"]],
  ["6to4", ["2002:7f00:1::"]],
  ["metadata", ["169.254.169.254"]],
  ["a link-local zone", ["fe80::1%lo"]],
  ["private", ["10.1.2.3"]],
  ["carrier-grade NAT", ["100.64.0.1"]],
  ["unspecified", ["0.0.0.0"]],
  ["one good address and one bad", ["8.8.8.8", "127.0.0.1"]],
];

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

  it("a public host by plain http, where a key would be read on the way", async () => {
    const { lookup, asked } = resolver({});
    dispatcher = createGuardedDispatcher({ allow: [], lookup });
    const failure = await failureOf(get(dispatcher, "http://example.com/"));
    expect(failure.message).toMatch(/unencrypted/);
    expect(asked()).toEqual([]);
  });

  it.each(["http://10.0.0.1:22/", "http://127.0.0.1:8081/", "https://other.example:8443/"])(
    "another port or host than the one that is permitted (%s)",
    async (url) => {
      const { lookup } = resolver({ "other.example": ["127.0.0.1"] });
      dispatcher = createGuardedDispatcher({ allow: ["10.0.0.1:80", "127.0.0.1:8080"], lookup });
      expect(await failureOf(get(dispatcher, url))).toBeInstanceOf(OutboundRefused);
    },
  );
});

describe("a name that leads to a forbidden address is not connected to", () => {
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

  it("even when an earlier look-up of the same name led to a permitted one", async () => {
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

  it("nor kept when the peer that answers is another than was looked up", async () => {
    // Pre-shared keys spare the test a certificate.
    const psk = Buffer.from("d731ef57be09e5204f0b205b60627028", "hex");
    const common = { ciphers: "PSK", maxVersion: "TLSv1.2" } as const;
    let received = 0;
    const server = tls.createServer({ ...common, pskCallback: () => psk }, (socket) => {
      socket.on("data", (chunk) => (received += chunk.length));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    // What a router or a transparent proxy could do: the connection to 8.8.8.8 ends up on this machine.
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

describe("what is permitted", () => {
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

  it("is reached, by address and by name", async () => {
    const port = portOf(server);
    const { lookup } = resolver({ "internal.example": ["127.0.0.1"] });
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`, `internal.example:${port}`], lookup });
    for (const host of ["127.0.0.1", "internal.example"]) {
      const { statusCode, body } = await get(dispatcher, `http://${host}:${port}/`);
      expect([statusCode, await body.text()]).toEqual([200, "fine"]);
    }
  });

  it("does not lead further: a redirect is an answer, not an order", async () => {
    const port = portOf(server);
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`] });
    const { statusCode, body } = await get(dispatcher, `http://127.0.0.1:${port}/redirect`);
    await body.dump();
    expect(statusCode).toBe(302);
    expect(seen).toEqual(["/redirect"]);
  });

  it("does not go through a proxy of the environment", async () => {
    vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:9");
    const port = portOf(server);
    dispatcher = createGuardedDispatcher({ allow: [`127.0.0.1:${port}`] });
    const { statusCode, body } = await get(dispatcher, `http://127.0.0.1:${port}/`);
    await body.dump();
    expect(statusCode).toBe(200);
    vi.unstubAllEnvs();
  });
});

it("a malformed entry of the list stops the start", () => {
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

/** A resolver over a table, and the names it was asked for. */
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

/** How many connections were attempted after the look-up. */
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
