import { decodeJwt } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SEALED_COLUMNS } from "../../../src/storage/sealed-columns.ts";
import { ensureFirstAccount } from "../../../src/identity/accounts/first-account.ts";
import { verifyPassword } from "../../../src/identity/accounts/password.ts";
import { createAccountStore } from "../../../src/storage/stores/identity/account.ts";
import type { CommandDeps } from "../../../src/transport/cli/command.ts";
import { runCommand } from "../../../src/transport/cli/run-command.ts";
import { insertConnection, type Installation, type Replica, startInstallation } from "../oauth/installation.ts";

let installation: Installation;
let replica: Replica;
let output: string;
let errors: string[];
let made = 0;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica();
});
afterAll(async () => {
  await replica.close();
  await installation.close();
});
beforeEach(() => {
  output = "";
  errors = [];
});

const deps: CommandDeps = {
  openServices: async () => ({ ...installation, close: () => Promise.resolve() }),
  migrate: async () => [],
  out: (text) => {
    output += text;
  },
  err: (line) => errors.push(line),
};

async function run(...args: string[]): Promise<number> {
  output = "";
  errors = [];
  return runCommand(args, deps);
}

/** Runs a command that must succeed and returns its JSON output. */
async function answer(...args: string[]): Promise<Record<string, string>> {
  expect(await run(...args, "--json"), errors.join()).toBe(0);
  expect(output).toMatch(/^\{.*\}\n$/);
  return JSON.parse(output) as Record<string, string>;
}

async function newAccount(...flags: string[]): Promise<{ account_id: string; email: string; password: string }> {
  const created = await answer("account", "create", "--email", `cli-${++made}@example.com`, ...flags);
  return {
    account_id: String(created.account_id),
    email: String(created.email),
    password: String(created.password),
  };
}

function keysIn(text: string): { id: string; purpose: string; state: string }[] {
  return (JSON.parse(text) as { keys: { id: string; purpose: string; state: string }[] }).keys;
}

describe("account create", () => {
  test("prints account_id, email and a password that matches the stored hash", async () => {
    const created = await newAccount();
    expect(Object.keys(created)).toEqual(["account_id", "email", "password"]);
    expect(created.account_id).toMatch(/^acc_/);
    const { rows } = await installation.database.pool.query<{ password_hash: string }>(
      "select password_hash from account where id = $1",
      [created.account_id],
    );
    const stored = String(rows[0]?.password_hash);
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await verifyPassword(stored, created.password)).toBe(true);
    expect(await verifyPassword(stored, `${created.password}x`)).toBe(false);
    expect(await verifyPassword("plain", "plain")).toBe(false);
  });

  test("rejects an existing address in any letter case", async () => {
    const { email } = await newAccount();
    expect(await run("account", "create", "--email", email.toUpperCase(), "--json")).toBe(1);
    expect(output).toBe("");
    expect(errors).toHaveLength(1);
  });
});

describe("client create", () => {
  test("prints client_id and a client_secret that the token endpoint accepts", async () => {
    const { email } = await newAccount();
    const created = await answer("client", "create", "--account", email, "--scope", "mgmt.read mgmt.write");
    expect(Object.keys(created)).toEqual(["client_id", "client_secret"]);
    expect(`${created.client_id}${created.client_secret}`).toMatch(/^[A-Za-z0-9_-]+$/);
    const token = await installation.token({
      clientId: String(created.client_id),
      clientSecret: String(created.client_secret),
    });
    expect(token.split(".")).toHaveLength(3);
  });

  test("also accepts an account ID", async () => {
    const { account_id } = await newAccount();
    await answer("client", "create", "--account", account_id, "--scope", "mcp.read");
  });

  test("grants mgmt.admin only to the client of an administrator", async () => {
    const [plain, admin] = [await newAccount(), await newAccount("--admin")];
    expect(await run("client", "create", "--account", plain.email, "--scope", "mgmt.admin")).toBe(2);
    expect(errors[0]).toContain("--admin");
    await answer("client", "create", "--account", admin.email, "--scope", "mgmt.admin");
  });
});

describe("pat create", () => {
  test("prints the ID and a token that is valid until pat revoke", async () => {
    const { email, account_id } = await newAccount();
    const created = await answer("pat", "create", "--account", email, "--scope", "mgmt.read", "--name", "laptop");
    expect(Object.keys(created)).toEqual(["id", "token"]);
    const verify = async () => replica.verifier.verify(`Bearer ${created.token}`, [installation.issuer]);
    expect(await verify()).toMatchObject({ accountId: account_id, expiresAt: undefined });

    expect(await run("pat", "list", "--account", email, "--json")).toBe(0);
    const { tokens } = JSON.parse(output) as { tokens: Record<string, unknown>[] };
    expect(tokens).toMatchObject([
      { id: created.id, name: "laptop", scopes: ["mgmt.read"], mcp_server_id: null, revoked_at: null },
    ]);
    expect(output).not.toContain(created.token);

    await answer("pat", "revoke", String(created.id));
    await expect
      .poll(async () =>
        verify().then(
          () => "accepted",
          (error: unknown) => String(error),
        ),
      )
      .toMatch(/Invalid or expired token/);
  });

  test("binds the token to a connection of the account and rejects a connection of another account", async () => {
    const { email } = await newAccount();
    const own = await insertConnection(installation, await installation.accounts.find(email));
    const foreign = await insertConnection(installation, await installation.newAccount());
    const created = await answer(
      "pat",
      "create",
      "--account",
      email,
      "--scope",
      "mcp.read",
      "--server-id",
      String(own),
      "--expires-in-days",
      "90",
    );
    expect(await replica.verifier.verify(`Bearer ${created.token}`, [installation.issuer])).toMatchObject({
      connectionId: own,
    });
    expect(
      await run("pat", "create", "--account", email, "--scope", "mcp.read", "--server-id", String(foreign), "--json"),
    ).toBe(1);
    expect([output, errors.length]).toEqual(["", 1]);
  });
});

test("account disable and client revoke invalidate the credentials", async () => {
  const { email } = await newAccount();
  const make = async () => {
    const created = await answer("client", "create", "--account", email, "--scope", "mgmt.read");
    return { clientId: String(created.client_id), clientSecret: String(created.client_secret) };
  };
  const [first, second] = [await make(), await make()];
  await answer("client", "revoke", first.clientId);
  await expect(installation.token(first)).rejects.toThrow("invalid_client");
  await answer("account", "disable", "--email", email);
  await expect(installation.token(second)).rejects.toThrow("invalid_client");
  expect(await run("client", "create", "--account", email, "--scope", "mgmt.read")).toBe(1);
});

describe("invalid command line", () => {
  const cases: readonly (readonly string[])[] = [
    ["accounts"],
    ["account"],
    ["account", "destroy"],
    ["account", "create"],
    ["account", "create", "--email"],
    ["account", "create", "--email", "nobody"],
    ["account", "create", "--email", "a@example.com", "--root"],
    ["account", "create", "a@example.com", "b@example.com"],
    ["client", "create", "--scope", "mgmt.read"],
    ["client", "create", "--account", "a@example.com"],
    ["pat", "create", "--account", "a@example.com", "--scope", "mgmt.read", "--server-id", "x"],
    ["pat", "create", "--account", "a@example.com", "--scope", "mgmt.read", "--expires-in-days", "0"],
    ["pat", "create", "--account", "a@example.com", "--scope", "mgmt.read", "--server-id", "99999999999"],
    ["pat", "revoke"],
    ["migrate", "now"],
  ];
  for (const args of cases) {
    test(`exits with 2 and prints one line for "${args.join(" ")}"`, async () => {
      expect(await run(...args)).toBe(2);
      expect(output).toBe("");
      expect(errors).toHaveLength(1);
      expect(errors[0]).not.toContain("\n");
    });
  }

  test("exits with 2 for unknown and missing scopes", async () => {
    const { email } = await newAccount();
    for (const scope of ["mgmt.destroy", "mgmt.read,mgmt.write", " "]) {
      expect(await run("client", "create", "--account", email, "--scope", scope)).toBe(2);
      expect(errors[0]).toContain("mgmt.read");
    }
  });
});

test("a command for an unknown object exits with 1 and prints one line", async () => {
  for (const args of [
    ["client", "create", "--account", "nobody@example.com", "--scope", "mgmt.read"],
    ["client", "revoke", "nobody"],
    ["pat", "revoke", "pat_0"],
    ["account", "disable", "acc_0"],
  ]) {
    expect(await run(...args)).toBe(1);
    expect(errors).toHaveLength(1);
  }
});

test("keys rotate activates the next signing key, and an immediate second rotation is rejected", async () => {
  expect(await run("keys", "list", "--json")).toBe(0);
  const before = keysIn(output);
  expect(await run("keys", "rotate", "--json")).toBe(0);
  const after = keysIn(output);
  const idIn = (keys: typeof after, state: string): string | undefined =>
    keys.find((key) => key.purpose === "access_token" && key.state === state)?.id;
  expect(after.every(({ purpose }) => purpose === "access_token")).toBe(true);
  expect([idIn(after, "current"), idIn(after, "retired")]).toEqual([idIn(before, "next"), idIn(before, "current")]);
  expect(await run("keys", "rotate")).toBe(1);
  expect(errors).toEqual([expect.stringMatching(/may sign from 20\d\d-/)]);
  expect(await run("keys", "rotate", "--force")).toBe(0);
  expect(await run("keys", "rotate", "--purpose", "everything")).toBe(2);
  expect(await run("keys", "rotate", "--purpose", "personal_access_token", "--json")).toBe(0);
  expect(keysIn(output).map(({ state }) => state)).toEqual(["next", "current", "retired"]);
});

test("keys rewrap prints the number of rewrapped values per column and can be repeated", async () => {
  expect(await run("keys", "rewrap", "--json")).toBe(0);
  expect(JSON.parse(output)).toEqual({
    master_key_version: 1,
    // Every column that contains sealed values.
    rewrapped: Object.fromEntries(SEALED_COLUMNS.map(({ table, column }) => [`${table}.${column}`, 0])),
    total: 0,
  });
});

test("help lists exactly the existing commands", async () => {
  expect(await run("help")).toBe(0);
  for (const name of [
    "account create",
    "account disable",
    "account reset-password",
    "client create",
    "client revoke",
    "pat create",
    "pat list",
    "pat revoke",
    "keys list",
    "keys rotate",
    "keys rewrap",
    "migrate",
  ])
    expect(output).toContain(name);
});

test("the output without --json is readable text", async () => {
  expect(await run("account", "create", "--email", "people@example.com")).toBe(0);
  expect(output).toContain("shown only this once");
});

test("exactly one of several replicas creates the first account on an empty database, and later starts create none", async () => {
  const empty = await startInstallation();
  const accountStore = createAccountStore(empty.database.orm);
  const start = () => ensureFirstAccount({ ...empty, accountStore });
  const made = (await Promise.all([start(), start(), start()])).filter((one) => one !== undefined);
  expect(made).toHaveLength(1);
  const [first] = made;
  if (first === undefined) throw new Error("no first account");
  const token = await empty.token(first);
  expect(decodeJwt(token)).toMatchObject({
    scope: "mgmt.read mgmt.write mcp.read mcp.write",
  });
  expect(await start()).toBeUndefined();
  await empty.close();
});
