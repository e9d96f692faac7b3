import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CreatedClient } from "../../../src/identity/clients/clients.ts";
import type { Route } from "../../../src/transport/http/router.ts";
import { createOAuthRoutes } from "../../../src/transport/oauth/routes.ts";
import { openDatabase } from "../../../src/storage/database.ts";
import { createClientStore } from "../../../src/storage/stores/identity/client.ts";
import { FORM, grant } from "./ask-token.ts";
import { basic, type Installation, serveAlone, startInstallation } from "./installation.ts";

let installation: Installation;
let client: CreatedClient;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  installation = await startInstallation();
  client = await installation.clients.create(await installation.newAccount(), "mgmt.read");
});
afterAll(async () => {
  for (const close of closing) await close();
  await installation.close();
});

/** A non-loopback IPv4 address of this machine; tests that need one are skipped on machines without it. */
const outward = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === "IPv4" && !address.internal)?.address;
const NO_ADDRESS = "this machine has no IPv4 address besides loopback";

function oauthServer(
  change: { trustProxy?: boolean; clients?: ReturnType<typeof createClientStore> } = {},
): readonly Route[] {
  return createOAuthRoutes({ ...installation.serverDeps, ...change });
}

async function serve(routes: readonly Route[], host?: string): Promise<number> {
  const { port, close } = await serveAlone(routes, host);
  closing.push(close);
  return port;
}

async function post(
  host: string,
  port: number,
  headers: Record<string, string | string[]> = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: Record<string, unknown> }> {
  const sent = httpRequest({ host, port, path: "/oauth2/token", method: "POST" });
  for (const [name, value] of Object.entries({ authorization: basic(client), "content-type": FORM, ...headers })) {
    sent.setHeader(name, value);
  }
  sent.end(grant());
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const body = JSON.parse(await text(response)) as Record<string, unknown>;
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

test("rejects a token request without TLS from another machine, with any credentials", async ({ skip }) => {
  const host = outward ?? skip(NO_ADDRESS);
  const port = await serve(oauthServer(), host);
  expect(await post(host, port)).toMatchObject({ status: 400, body: { error: "invalid_request" } });
  expect((await post(host, port, { "x-forwarded-proto": "https" })).status).toBe(400);
});

test("accepts a token request over http from a trusted proxy that reports https", async ({ skip }) => {
  const host = outward ?? skip(NO_ADDRESS);
  const port = await serve(oauthServer({ trustProxy: true }), host);
  expect((await post(host, port, { "x-forwarded-proto": "https" })).status).toBe(200);
  expect((await post(host, port, { "x-forwarded-proto": "https, http" })).status).toBe(400);
  expect((await post(host, port)).status).toBe(400);
});

test("rejects a token request for which a trusted proxy on loopback reports http", async () => {
  const port = await serve(oauthServer({ trustProxy: true }));
  expect((await post("127.0.0.1", port, { "x-forwarded-proto": "http" })).status).toBe(400);
  expect((await post("127.0.0.1", port, { "x-forwarded-proto": "https" })).status).toBe(200);
  expect((await post("127.0.0.1", port)).status).toBe(200);
});

test("ignores X-Forwarded-Proto without a trusted proxy", async () => {
  const port = await serve(oauthServer());
  expect((await post("127.0.0.1", port, { "x-forwarded-proto": "http" })).status).toBe(200);
});

test("rejects a token request with two Authorization headers", async () => {
  const port = await serve(oauthServer());
  const { status } = await post("127.0.0.1", port, { authorization: [basic(client), "Basic YTpi"] });
  expect(status).toBe(401);
});

test("counts failed client authentication per address that the trusted proxy reports", async () => {
  const port = await serve(oauthServer({ trustProxy: true }));
  const from = async (address: string, clientSecret: string) => {
    const authorization = basic({ ...client, clientSecret });
    return (await post("127.0.0.1", port, { "x-forwarded-for": `9.9.9.9, ${address}`, authorization })).status;
  };
  for (let attempt = 0; attempt < 60; attempt++) expect(await from("2001:db8::1", "guess")).toBe(401);
  expect(await from("2001:db8::2", "guess")).toBe(429);
  expect(await from("2001:db8:0:1::1", client.clientSecret)).toBe(200);
  expect(await from("192.0.2.7", client.clientSecret)).toBe(200);
});

test("the token endpoint returns the same tokens and errors over HTTP/2", async () => {
  const session = connectHttp2(`http://127.0.0.1:${await serve(oauthServer())}`);
  const ask = async (form: string): Promise<[unknown, Record<string, unknown>]> => {
    const headers = { ":method": "POST", ":path": "/oauth2/token", authorization: basic(client), "content-type": FORM };
    const stream = session.request(headers);
    stream.end(form);
    const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
    return [answer[":status"], JSON.parse(await text(stream)) as Record<string, unknown>];
  };
  expect(await ask(grant())).toMatchObject([200, { token_type: "Bearer", scope: "mgmt.read" }]);
  expect(await ask(grant("&scope=no"))).toMatchObject([400, { error: "invalid_scope" }]);
  expect(await ask(grant(`&x=${"a".repeat(40_000)}`))).toMatchObject([413, { error: "invalid_request" }]);

  const left = session.request({
    ":method": "POST",
    ":path": "/oauth2/token",
    authorization: basic(client),
    "content-type": FORM,
  });
  left.write("grant_type=");
  await new Promise((resolve) => setTimeout(resolve, 50));
  left.close();
  await once(left, "close");
  expect(await ask(grant())).toMatchObject([200, { token_type: "Bearer" }]);
  session.close();
});

test("a client that disconnects while it sends a form does not affect other clients", async () => {
  const errors: unknown[] = [];
  const port = await serve(
    createOAuthRoutes({
      ...installation.serverDeps,
      log: { error: (fields) => errors.push(fields), warn: () => undefined },
    }),
  );
  const socket = connect(port, "127.0.0.1");
  socket.write(
    `POST /oauth2/token HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(client)}\r\nContent-Type: ${FORM}\r\nContent-Length: 100\r\n\r\ngrant_type=`,
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await post("127.0.0.1", port)).status).toBe(200);
  expect(errors).toEqual([]);
});

test("returns 503 with Retry-After while the database is unreachable, and does not count failed authentication", async () => {
  const away = await openDatabase({ url: "postgres://nobody@127.0.0.1:1/nothing", poolSize: 1 });
  const port = await serve(oauthServer({ clients: createClientStore(away) }));
  for (let attempt = 0; attempt < 70; attempt++) {
    const { status, headers, body } = await post("127.0.0.1", port);
    expect([status, headers["retry-after"], body["error"]]).toEqual([503, "1", "temporarily_unavailable"]);
  }
  await away.close();
});
