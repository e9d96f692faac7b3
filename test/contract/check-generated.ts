// Fails if `npm run generate` would change gen/. Generates in a copy and leaves the working tree unchanged.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

function readTree(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length), readFileSync(path, "utf8")];
    }),
  );
}

const copy = mkdtempSync(join(tmpdir(), "patchbay-generate-"));
try {
  for (const name of ["proto", "openapi", "gen", "buf.yaml", "buf.gen.yaml", "redocly.yaml", "package.json"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  for (const name of ["node_modules", "test", "src"]) symlinkSync(join(root, name), join(copy, name));
  execFileSync("npm", ["run", "-s", "generate"], { cwd: copy, stdio: ["ignore", "ignore", "inherit"] });
  const committed = readTree(join(root, "gen"));
  const fresh = readTree(join(copy, "gen"));
  const changed = [...new Set([...committed.keys(), ...fresh.keys()])].filter(
    (path) => committed.get(path) !== fresh.get(path),
  );
  for (const path of changed) console.error(`gen${path} is not what the contracts generate`);
  if (changed.length > 0) {
    console.error("Run npm run generate and commit gen/.");
    process.exitCode = 1;
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
