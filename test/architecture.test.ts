import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const source = fileURLToPath(new URL("../src", import.meta.url));
const files = globSync("**/*.{ts,tsx}", { cwd: source, exclude: ["**/*.d.ts"] }).sort();

/**
 * Files that may read the environment: the parser of settings, and the code that passes PATH to PostgreSQL's programs.
 */
const ENVIRONMENT_READERS = [
  "config.ts",
  "storage/embedded/cluster.ts",
  // For development of the console only.
  "console/develop.ts",
  "console/vite.config.ts",
];

const texts = new Map(files.map((file) => [file, readFileSync(join(source, file), "utf8")]));
const all = (find: (file: string, text: string) => string[]) => [...texts].flatMap(([file, text]) => find(file, text));

test("only config.ts reads the environment", () => {
  const readers = files.filter((file) => texts.get(file)?.includes("process.env"));
  expect(readers.filter((file) => !ENVIRONMENT_READERS.includes(file))).toEqual([]);
});

/** Files that may contain SQL strings, with the reason. */
const SQL_PLACES = [
  // A migration never changes, so it must not depend on the current entities.
  "storage/migrations/",
  // Migrations run in the session that holds the advisory lock.
  "storage/migrate.ts",
  "storage/drop-invalid-indexes.ts",
  // Indexes that a list of properties cannot describe have the SQL of their migrations.
  "storage/entities/",
  // The hot statements contain what the query builder cannot express.
  "storage/statements/",
  // The query builder does not support partitions and table locks.
  "storage/stores/calls/call-partitions.ts",
  // The embedded cluster is administered before the service's database exists.
  "storage/embedded-postgres.ts",
  "storage/embedded/",
  // Statements for a single database connection: session, subscriptions, transaction, health.
  "storage/pool/server-traits.ts",
  "storage/listener.ts",
  "storage/database.ts",
  "storage/transaction.ts",
  // The tables of the job queue belong to its library.
  "storage/jobs.ts",
];

const SQL_STATEMENT =
  /^\s*(select\s|with\s\S+ as\s*\(|insert into\s|update\s\S+( as \S+)? set\s|delete from\s|(create|alter|drop|lock|truncate) (unique )?(table|index|database|schema)\s|set local\s|listen\s|begin$|commit$|rollback$)/;

test("SQL strings are only where the query builder cannot replace them", () => {
  const places = all((file, text) => {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      const isText = ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateHead(node);
      if (isText && SQL_STATEMENT.test(node.text)) found.push(file);
      ts.forEachChild(node, visit);
    };
    if (file.endsWith(".ts")) visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest));
    return found;
  });
  expect(places.filter((file) => !SQL_PLACES.some((place) => file.startsWith(place)))).toEqual([]);
  expect(SQL_PLACES.filter((place) => !places.some((file) => file.startsWith(place)))).toEqual([]);
});

test("no module has mutable top-level state", () => {
  const found = all((file, text) => {
    const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
    const lets = statements.filter(
      (each) => ts.isVariableStatement(each) && (each.declarationList.flags & ts.NodeFlags.Const) === 0,
    );
    return lets.map(() => file);
  });
  expect(found).toEqual([]);
});

test("every export of the client package has a documentation comment", () => {
  const found = all((file, text) => {
    if (!file.startsWith("client/")) return [];
    const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const bare = parsed.statements.filter((each) => isExported(each) && ts.getJSDocCommentsAndTags(each).length === 0);
    return bare.map((each) => `${file}:${parsed.getLineAndCharacterOfPosition(each.getStart()).line + 1}`);
  });
  expect(found).toEqual([]);
});

test("no two exports in src share a name", () => {
  const homes = new Map<string, string[]>();
  for (const [file, text] of texts) {
    const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const names = new Set(statements.filter((each) => isExported(each)).flatMap((each) => declaredNames(each)));
    for (const name of names) homes.set(name, [...(homes.get(name) ?? []), file]);
  }
  const shared = [...homes].filter(([, places]) => places.length > 1);
  expect(shared.map(([name, places]) => `${name}: ${places.join(", ")}`)).toEqual([]);
});

function declaredNames(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  return "name" in statement && isIdentifier(statement.name) ? [statement.name.text] : [];
}

function isIdentifier(name: unknown): name is ts.Identifier {
  return typeof name === "object" && name !== null && "escapedText" in name;
}

/**
 * Whether a statement is exported. An implementation with overloads does not count, because its overloads have the
 * comment.
 */
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

test("file names are nouns or verbs in kebab-case", () => {
  const vague = /(^|-)(manager|processor|helpers?|utils?|common|data|info|dto|impl|base)(-|$)/;
  const names = files.map((file) =>
    basename(file)
      .replace(/\.tsx?$/, "")
      .replace(/\.config$/, ""),
  );
  expect(names.filter((name) => !/^[a-z0-9-]+$/.test(name) || vague.test(name))).toEqual([]);
});
