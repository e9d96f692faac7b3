import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/**
 * Packs the client for `npm install` into the folder given on the command line or the current one. The package contains
 * plain JavaScript and types of the client and the contracts, and depends on the versions that the service uses.
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

/** The package's manifest, with the dependency versions that the service is tested with. */
function describe(): object {
  const project = readManifest(join(source, "..", "..", "package.json"));
  const versions = { ...project.devDependencies, ...project.dependencies };
  return {
    ...readManifest(join(source, "package.json")),
    version: project.version,
    // Version ranges let an application share its own copies; two copies would not recognize each other's messages.
    dependencies: Object.fromEntries(DEPENDENCIES.map((name) => [name, `^${versions[name] ?? ""}`])),
  };
}

function readManifest(path: string): Manifest {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- our own files, checked by what installs the result
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}
