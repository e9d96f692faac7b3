import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Child, runChild, startChild } from "../support/child-process.ts";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";

let dataDir: string;
let env: Record<string, string>;
let url: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "patchbay-first-"));
  const port = String(await freePort());
  url = `http://127.0.0.1:${port}`;
  env = { DATA_DIR: dataDir, PORT: port, HOME: process.env["HOME"] ?? "/" };
});

afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

function npmStart(): Promise<Child> {
  return startChild({
    command: "npm",
    args: ["start"],
    env,
    ready: /^patchbay listening on http:\/\/127\.0\.0\.1:\d+$/m,
  });
}

async function npmPatchbay(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, output } = await runChild({
    command: "npm",
    args: ["run", "-s", "patchbay", "--", ...args, "--json"],
    env,
  });
  expect([code, output]).toEqual([0, expect.anything()]);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test("npm start serves immediately and prints commands that work", async () => {
  const service = await npmStart();
  try {
    // The commands follow the line that the test waited for.
    await until(() => Promise.resolve(service.stdout().endsWith(" help\n")), { what: "how to begin" });
    expect(service.stdout()).toContain(`patchbay listening on ${url}\n`);
    for (const word of ["account", "password", "client id", "client secret"])
      expect(service.stdout()).toMatch(new RegExp(`^  ${word} +\\S+$`, "m"));

    // The printed commands, unchanged.
    const script = /^ {2}TOKEN=[\s\S]*?mcp-servers$/m.exec(service.stdout())?.[0] ?? "";
    const { stdout } = await runChild({ command: "bash", args: ["-ec", script], env });
    expect(stdout).toBe('{"success":true,"data":[]}');

    // The operator's command line.
    const account = await npmPatchbay("account", "create", "--email", "a@example.com");
    expect(account).toEqual({ account_id: expect.any(String), email: "a@example.com", password: expect.any(String) });
    const client = await npmPatchbay(
      "client",
      "create",
      "--account",
      "a@example.com",
      "--scope",
      "mgmt.read mgmt.write",
    );
    expect(client).toEqual({ client_id: expect.any(String), client_secret: expect.any(String) });
    const pat = await npmPatchbay("pat", "create", "--account", "a@example.com", "--scope", "mgmt.read");
    expect(pat).toEqual({ id: expect.any(String), token: expect.any(String) });
    const token = await fetch(`${url}/oauth2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${String(client["client_id"])}:${String(client["client_secret"])}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials", scope: "mgmt.read" }),
    });
    expect(await token.json()).toEqual({
      access_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 3600,
      scope: "mgmt.read",
    });
    const list = await fetch(`${url}/api/v1/mcp-servers`, {
      headers: { authorization: `Bearer ${String(pat["token"])}` },
    });
    expect(list.status).toBe(200);
  } finally {
    await service.end("SIGTERM");
  }
}, 60_000);

test("a personal access token carries the claims of the specification", async () => {
  const { token } = await npmPatchbay("pat", "create", "--account", "a@example.com", "--scope", "mgmt.read mcp.read");
  const [, payload = ""] = String(token).split(".");
  expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toEqual({
    ...{
      iss: url,
      aud: url,
      sub: expect.any(String),
      client_id: expect.stringMatching(/^pat_/),
      token_use: "access",
      token_type: "pat",
    },
    ...{
      scopes: ["mgmt.read", "mcp.read"],
      scope: "mgmt.read mcp.read",
      iat: expect.any(Number),
      jti: expect.stringMatching(/^pat_/),
    },
  });
});

test("the second start prints no credentials and keeps all data, and SIGTERM ends it with exit code 0", async () => {
  const service = await startChild({
    command: process.execPath,
    args: ["src/start.js"],
    env,
    ready: /^patchbay listening on /m,
  });
  try {
    expect(service.output()).not.toMatch(/secret|password/i);
    const { tokens } = await npmPatchbay("pat", "list", "--account", "a@example.com");
    expect(tokens).toHaveLength(2);
  } finally {
    expect(await service.end("SIGTERM")).toBe(0);
  }
});

test("only the owner can read generated key files", async () => {
  const keys = join(dataDir, "keys");
  expect((await stat(keys)).mode & 0o777).toBe(0o700);
  const files = await readdir(keys);
  expect(files).not.toEqual([]);
  for (const file of files) expect([file, (await stat(join(keys, file))).mode & 0o777]).toEqual([file, 0o600]);
});

test.each([
  [{ PORT: "http" }, /PORT/],
  [{ DATABASE_URL: "postgres://127.0.0.1:1/x" }, /PATCHBAY_KEYS/],
  [{ DATABASE_URL: "mysql://127.0.0.1/x" }, /DATABASE_URL/],
  [{ LOG_LEVEL: "loud" }, /LOG_LEVEL/],
  [{ OIDC_ISSUER: "https://login.example.com", OIDC_CLIENT_ID: "x" }, /OIDC_CLIENT_SECRET belong together/],
  [
    { OIDC_ISSUER: "http://login.example.com", OIDC_CLIENT_ID: "x", OIDC_CLIENT_SECRET: "y" },
    /OIDC_ISSUER must start with https/,
  ],
  [{ OIDC_CREATE_ACCOUNTS: "maybe" }, /OIDC_CREATE_ACCOUNTS/],
])("an invalid setting %j ends the start with one line that names it", async (wrong, line) => {
  const { code, output } = await runChild({
    command: process.execPath,
    args: ["src/start.js"],
    env: { ...env, ...wrong },
  });
  expect(code).toBe(2);
  expect(output.trim().split("\n")).toEqual([expect.stringMatching(line)]);
});

test("a failed start prints its reason in one line and leaves no database running", async () => {
  const broken = { ...env, INTEGRATION_BASE_URLS: "nope=http://127.0.0.1:1" };
  const { code, output } = await runChild({ command: "npm", args: ["run", "-s", "start"], env: broken });
  expect([code, output]).toEqual([
    1,
    expect.stringMatching(/^patchbay: INTEGRATION_BASE_URLS: unknown server_type "nope".*\n$/m),
  ]);
  expect(await readdir(join(dataDir, "postgres"))).not.toContain("postmaster.pid");
});
