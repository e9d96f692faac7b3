import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/**
 * Packs the client for `npm install`, into the folder named on the command line or the current one: plain JavaScript and
 * types of the client and the contracts, and the versions of the service's own dependencies.
 */
interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const DEPENDENCIES = [
  "@bufbuild/protobuf",
  "@connectrpc/connect",
  "@connectrpc/connect-node",
  "@connectrpc/connect-web",
  "openapi-fetch",
];

const source = import.meta.dirname;
const target = resolve(process.argv[2] ?? ".");
const folder = mkdtempSync(join(tmpdir(), "patchbay-client-"));
try {
  const compiler = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin", "tsc");
  const options = ["--noEmit", "false", "--outDir", join(folder, "dist")];
  execFileSync(process.execPath, [compiler, "-p", source, ...options], { stdio: "inherit" });
  copyFileSync(join(source, "README.md"), join(folder, "README.md"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(describe(), null, 2));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", target], { cwd: folder });
  process.stdout.write(`${join(target, packed.toString().trim())}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The package's own description with the versions that the service itself is built and tested with. */
function describe(): object {
  const project = readManifest(join(source, "..", "..", "package.json"));
  const versions = { ...project.devDependencies, ...project.dependencies };
  return {
    ...readManifest(join(source, "package.json")),
    version: project.version,
    // A range, so that an application's own copies serve: two of them would not know each other's messages.
    dependencies: Object.fromEntries(DEPENDENCIES.map((name) => [name, `^${versions[name] ?? ""}`])),
  };
}

function readManifest(path: string): Manifest {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- our own files, checked by what installs the result
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}
