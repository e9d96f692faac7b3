import { afterAll, beforeAll, expect, test } from "vitest";
import type { Account } from "../../src/identity/account.ts";
import { randomPassword } from "../../src/identity/random.ts";
import { openInstallation } from "../../src/storage/installation.ts";
import { PEPPER_PLACE, SEALED_COLUMNS } from "../../src/storage/sealed-columns.ts";
import { createSigningKeyStore } from "../../src/storage/stores/identity/signing-key.ts";
import { formsOf, secretsIn } from "../contract/secret-forms.ts";
import { getCode, insertCodeClient, logIn, redeem, refresh } from "../transport/oauth/code-flow.ts";
import { type Installation, startInstallation } from "../transport/oauth/installation.ts";

let installation: Installation;
let account: Account;

/** All secrets, by kind. */
const secrets = new Map<string, string>();

function keep(name: string, secret: unknown): string {
  if (typeof secret !== "string" || secret.length < 16) throw new Error(`there is no ${name}`);
  secrets.set(name, secret);
  return secret;
}

/** All rows of all tables as text. */
async function dump(): Promise<ReadonlyMap<string, string>> {
  const { pool } = installation.database;
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const tables = new Map<string, string>();
  for (const { name } of rows) {
    const found = await pool.query<{ row: string }>(`select t::text as row from ${name} t`);
    tables.set(name, found.rows.map(({ row }) => row).join("\n"));
  }
  return tables;
}

beforeAll(async () => {
  installation = await startInstallation();
  account = await installation.newAccount();
  const browser = await logIn(installation, account);
  for (const [index, pair] of browser.cookie.split("; ").entries()) {
    keep(`cookie ${index}`, decodeURIComponent(pair.slice(pair.indexOf("=") + 1)));
  }
  const client = await insertCodeClient(installation, account);
  keep("client secret", client.clientSecret);
  keep("code that is not redeemed", (await getCode(browser, client)).code);
  const attempt = await getCode(browser, client);
  keep("code that is redeemed", attempt.code);
  const first = await redeem(installation, client, attempt);
  keep("access token", first.body["access_token"]);
  const second = await refresh(installation, client, keep("refresh token that is used", first.body["refresh_token"]));
  keep("refresh token that is not used", second.body["refresh_token"]);
  keep("secret of another client", (await installation.clients.create(account, "mgmt.read")).clientSecret);
  const request = { scope: "mgmt.read", name: "", connectionId: undefined, expiresInDays: undefined };
  keep("personal access token", (await installation.personalAccessTokens.create(account, request)).token);
  const made = await installation.accounts.create({ email: "secret@example.com", isAdmin: false });
  keep("password", made.password);
  keep("pepper", installation.pepper.toString("base64"));
  for (const { purpose, state, privateJwk } of installation.keys.list()) {
    keep(`${state} key for ${purpose}`, privateJwk?.d);
  }
});
afterAll(async () => {
  await installation.close();
});

test("a database dump contains no secret", async () => {
  const tables = await dump();
  expect(secrets.size).toBeGreaterThan(14);
  expect(tables.get("public.oidc_payload")).toMatch(/RefreshToken/);
  expect(tables.get("public.login_session")).not.toBe("");
  for (const [table, rows] of tables) expect([table, ...secretsIn(rows, secrets)]).toEqual([table]);
});

test("a database dump contains no token signature, whole or in part", async () => {
  const halves = new Map<string, string>();
  for (const name of ["access token", "personal access token"]) {
    const [, payload = "", signature = ""] = (secrets.get(name) ?? "").split(".");
    halves.set(`payload of the ${name}`, payload);
    halves.set(`signature of the ${name}`, signature);
  }
  for (const [table, rows] of await dump()) expect([table, ...secretsIn(rows, halves)]).toEqual([table]);
});

test("the search detects each secret in every encoding", () => {
  for (const [name, secret] of secrets) {
    for (const form of formsOf(secret)) expect([name, secretsIn(`(7,"${form}")`, secrets)]).toEqual([name, [name]]);
  }
});

test("rejects ids and hashes from the dump as secrets", async () => {
  const client = await insertCodeClient(installation, account);
  const { pool } = installation.database;
  const { rows } = await pool.query<{ id: string }>("select id from oidc_payload");
  expect(rows.length).toBeGreaterThan(0);
  for (const { id } of rows) {
    expect((await refresh(installation, client, id)).body["error"]).toBe("invalid_grant");
    const asCode = { code: id, verifier: "v".repeat(43) };
    expect((await redeem(installation, client, asCode)).body["error"]).toBe("invalid_grant");
  }
  const hash = await pool.query<{ text: string }>(
    "select encode(secret_hash, 'base64') as text from oauth_client where id = $1",
    [client.clientId],
  );
  const stolen = { ...client, clientSecret: hash.rows[0]?.text ?? randomPassword() };
  expect((await refresh(installation, stolen, "x")).body["error"]).toBe("invalid_client");
});

/** Changes one encrypted value while `work` runs. */
async function withSealed(table: string, column: string, expression: string, work: () => Promise<void>): Promise<void> {
  const { pool } = installation.database;
  const before = await pool.query<{ id: string; value: Buffer }>(
    `select id::text, ${column} as value from ${table} where ${column} is not null`,
  );
  await pool.query(`update ${table} set ${column} = ${expression} where ${column} is not null`);
  try {
    await work();
  } finally {
    for (const { id, value } of before.rows)
      await pool.query(`update ${table} set ${column} = $1 where id::text = $2`, [value, id]);
  }
}

/** Modifications by an attacker with write access to the database. */
const TAMPERINGS = [
  ["cut by its last byte", (column: string) => `substring(${column} from 1 for length(${column}) - 1)`],
  ["cut to its header", (column: string) => `substring(${column} from 1 for 5)`],
  ["emptied", () => "''::bytea"],
  ["of another format", (column: string) => `set_byte(${column}, 0, 2)`],
  ["of a version that nobody holds", (column: string) => `set_byte(${column}, 1, 9)`],
  ["of another version", (column: string) => `set_byte(${column}, 4, 2)`],
  ["changed in its text", (column: string) => `set_byte(${column}, 80, get_byte(${column}, 80) # 1)`],
  ["changed in its key", (column: string) => `set_byte(${column}, 20, get_byte(${column}, 20) # 1)`],
  ["with a byte behind it", (column: string) => `${column} || '\\x00'::bytea`],
] as const;

test.each(TAMPERINGS)("a start with a pepper that is %s is rejected", async (_, expression) => {
  await withSealed("installation", "sealed_pepper", expression("sealed_pepper"), async () => {
    await expect(openInstallation(installation.database, installation.sealer)).rejects.toThrow(
      /encrypted value in installation\.sealed_pepper|master key version/,
    );
  });
});

test.each(TAMPERINGS)("a signing key that is %s is not used", async (_, expression) => {
  const store = createSigningKeyStore(installation.database.orm, installation.sealer);
  await withSealed("signing_key", "sealed_private_jwk", expression("sealed_private_jwk"), async () => {
    await expect(store.list()).rejects.toThrow(/encrypted value in signing_key\.sealed_private_jwk/);
  });
});

test("a signing key that was copied to another row is not used", async () => {
  const store = createSigningKeyStore(installation.database.orm, installation.sealer);
  const other = "(select other.sealed_private_jwk from signing_key other where other.id <> signing_key.id limit 1)";
  await withSealed("signing_key", "sealed_private_jwk", other, async () => {
    await expect(store.list()).rejects.toThrow(/was changed or belongs elsewhere/);
  });
});

test("a secret of one column cannot be decrypted in another", () => {
  const places = SEALED_COLUMNS.map((column) => column.placeOf(["1", "1"]));
  for (const from of places) {
    const sealed = installation.sealer.seal("a secret", from);
    for (const to of places.filter((each) => each !== from)) {
      expect(() => installation.sealer.open(sealed, to)).toThrow(/belongs elsewhere/);
    }
  }
  expect(places).toContainEqual(PEPPER_PLACE);
});
