import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAccounts, type TestAccount, type TestAccounts, type TestOrganization } from "./support/accounts.ts";
import { PROJECT_FOLDER, runChild } from "./support/child-process.ts";
import { type EverythingServer, startEverythingServer } from "./integrations/mcp/everything-server.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { type Service, startService } from "./support/service.ts";

/** The documentation pages. */
const PAGES = globSync(
  "{README.md,CHANGELOG.md,src/README.md,src/*/README.md,openapi/integrations/README.md,bench/README.md,examples/**/*.md}",
  {},
).sort();
/** Not run, because benchmarks take minutes. */
const NOT_RUN = ["bench/README.md"];
const ADDRESS = "http://127.0.0.1:8080";
/** The MCP server of the examples; a real server replaces it. */
const UPSTREAM = "https://mcp.example.com/mcp";

const { scripts } = JSON.parse(readFileSync(join(PROJECT_FOLDER, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};
const read = (page: string): string => readFileSync(join(PROJECT_FOLDER, page), "utf8");

/** The code blocks of a page: fenced blocks, and indented lines after an empty line. */
function listBlocks(text: string): string[] {
  const fenced = [...text.matchAll(/^```[^\n]*\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  const indented = text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+/g);
  return [...fenced, ...[...indented].map(([block]) => block.replaceAll(/^ {4}/gm, ""))].map((block) => block.trim());
}

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let account: TestAccount;
let newcomer: TestAccount;
let organization: TestOrganization;
let folder: string;
let upstream: EverythingServer;

beforeAll(async () => {
  [database, folder, upstream] = await Promise.all([
    createTestDatabase(),
    mkdtemp(join(tmpdir(), "patchbay-readme-")),
    startEverythingServer(),
  ]);
  service = await startService({
    databaseUrl: database.url,
    env: { OUTBOUND_ALLOW: new URL(upstream.url).host },
  });
  accounts = await openAccounts(service.env);
  [account, newcomer] = await Promise.all([accounts.create(), accounts.create()]);
  organization = await accounts.createOrganization({ owner: account });
});
afterAll(async () => {
  await accounts?.close();
  await service?.stop();
  await upstream?.stop();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

async function bash(script: string): Promise<string> {
  const env = { ...service.env, TOKEN: await account.token(), HOME: folder };
  const { code, stdout, output } = await runChild({
    command: "bash",
    args: ["-euo", "pipefail", "-c", script],
    env,
  });
  expect([code, output]).toEqual([0, output]);
  return stdout;
}

async function connectionStates(): Promise<string[]> {
  const headers = { authorization: `Bearer ${await account.token()}` };
  const answer = await fetch(`${service.url}/api/v1/mcp-servers`, { headers });
  const { data } = (await answer.json()) as { data: { api_key_verification_status: string }[] };
  return data.map((connection) => connection.api_key_verification_status);
}

/** Runs a block by its first words. A block without a match fails the test. */
const WAYS: [begins: RegExp, tries: (block: string) => Promise<void>][] = [
  // Commands for a fresh clone, which CI runs. Here only their scripts must exist.
  [
    /^npm ci && npm \w+$/,
    async (block) => {
      expect(Object.keys(scripts)).toContain(block.split(" ").at(-1));
      expect(existsSync(join(PROJECT_FOLDER, "package-lock.json"))).toBe(true);
    },
  ],
  [
    /^curl /,
    async (block) => {
      const answer = JSON.parse(await bash(block.replace(/^curl /, "curl --silent --show-error --fail-with-body ")));
      expect(answer).not.toHaveProperty("detail");
    },
  ],
  [
    /^import .* from "@patchbay\/client"/,
    async (block) => {
      const { clientId, clientSecret } = await account.client("mgmt.read mgmt.write");
      const given = `const [clientId, clientSecret] = ${JSON.stringify([clientId, clientSecret])};\n`;
      const told = `\nif (error !== undefined) throw new Error(JSON.stringify(error));\nconsole.log(JSON.stringify(data));\n`;
      const source = block.replaceAll('"@patchbay/client"', JSON.stringify(`${PROJECT_FOLDER}/src/client/rest.ts`));
      await writeFile(join(folder, "block.mjs"), given + source + told);
      expect(JSON.parse(await bash(`node ${join(folder, "block.mjs")}`))).toMatchObject({ success: true });
    },
  ],
  [
    /^npx mcp-inspector /,
    async (block) => {
      await expect.poll(connectionStates, { timeout: 20_000 }).toContain("verified");
      expect(JSON.parse(await bash(block))).toMatchObject({ content: [{ text: "Echo: hello" }] });
    },
  ],
  // A picture.
  [/^[^\n]*─/, async () => undefined],
];

const blocks = PAGES.filter((page) => !NOT_RUN.includes(page)).flatMap((page) =>
  listBlocks(read(page)).map((block) => [page, block.split("\n", 1)[0] ?? "", block] as const),
);

describe("every code block works as printed", () => {
  test("the pages contain code blocks", () => {
    expect(blocks.length).toBeGreaterThan(4);
  });

  test.each(blocks)("%s: %s", async (_page, _first, block) => {
    const way = WAYS.find(([begins]) => begins.test(block));
    expect(way, `nothing tries this block:\n${block}`).toBeDefined();
    await way?.[1](block.replaceAll(ADDRESS, service.url).replaceAll(UPSTREAM, upstream.url));
  });
});

describe.each(PAGES)("the commands and files that %s mentions", (page) => {
  const mentions = [
    ...read(page)
      .replaceAll(/\s*\n\s*/g, " ")
      .matchAll(/`([^`]+)`/g),
  ].map(([, code = ""]) => code);

  test("exist", () => {
    const named = mentions.flatMap((code) => {
      const script = /^npm (?:run (?:-s )?)?([\w:-]+)/.exec(code)?.[1];
      return code.startsWith("npm ") && script !== undefined && !["ci", "pack", "install"].includes(script)
        ? [script]
        : [];
    });
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const paths = mentions.flatMap((code) => {
      const path = code.replace(/^npx vitest run /, "");
      return /^(?:src|test|openapi|proto|gen|bench|examples)\/[\w./-]*$/.test(path) ? [path] : [];
    });
    expect(paths.filter((path) => !existsSync(join(PROJECT_FOLDER, path)))).toEqual([]);
  });

  const commands = mentions.filter((code) => code.startsWith("npm run -s patchbay -- "));
  if (commands.length === 0) return;
  test.each(commands)("%s", async (command) => {
    const filled = command
      .replace("ORG_ID", organization.id)
      .replace("EMAIL", newcomer.email)
      .replace("admin@localhost", account.email);
    expect(await bash(filled)).not.toBe("");
  });
});

test("the table of settings contains exactly the settings that the service reads", () => {
  const table = /^## Configuration\n([\s\S]*?)^## /m.exec(read("README.md"))?.[1] ?? "";
  const rows = table.split("\n").map((line) => line.split("|", 2)[1] ?? "");
  const told = rows.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name));
  const known = [...read("src/config.ts").matchAll(/"([A-Z]{2,}[A-Z_]*)"/g)].map(([, name]) => name);
  expect(told.toSorted()).toEqual([...new Set(known)].toSorted());
});
