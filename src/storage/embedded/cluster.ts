import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { ignoreError } from "../ignore-error.ts";
import { SYSTEM_FOLDER, findBinaries, type Binaries } from "./binaries.ts";
import { canEnter, findUnprivilegedUser, isRoot, ownerOf, type OsUser } from "./os-user.ts";

/** A database cluster on disk, ready to start. */
export interface Cluster {
  /** PostgreSQL's own data directory. */
  readonly pgdata: string;
  /** The file for PostgreSQL's standard error. */
  readonly logFile: string;
  /** The file with the port, so that every start uses the same one and open pools reconnect. */
  readonly portFile: string;
  readonly password: string;
  readonly binaries: Binaries;
  /** The user that runs PostgreSQL; undefined for the current one. */
  readonly user: OsUser | undefined;
}

/** The database's superuser and only role. */
export const ROLE = "patchbay";

/** The environment of PostgreSQL's programs. Excludes ours, whose PG* variables would affect them. */
export const PROGRAM_ENV = { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

async function exists(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => true,
    () => false,
  );
}

async function runInitdb(cluster: string, binaries: Binaries, user: OsUser | undefined): Promise<void> {
  const pgdata = join(cluster, "data");
  const passwordForInitdb = join(cluster, "initdb-password");
  const password = randomBytes(24).toString("base64url");
  await mkdir(pgdata, { mode: 0o700 });
  await writeFile(join(cluster, "password"), `${password}\n`, { mode: 0o600 });
  await writeFile(passwordForInitdb, `${password}\n`, { mode: 0o600 });
  if (user !== undefined) {
    await chown(pgdata, user.uid, user.gid);
    await chown(passwordForInitdb, user.uid, user.gid);
  }
  const options = [
    `--pgdata=${pgdata}`,
    `--username=${ROLE}`,
    `--pwfile=${passwordForInitdb}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    // The builtin provider sorts by code point on every machine, independent of the C library.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
  ];
  try {
    await promisify(execFile)(binaries.initdb, options, { cwd: "/", env: PROGRAM_ENV, ...user });
  } catch (cause) {
    const said = cause instanceof Error && "stderr" in cause ? String(cause.stderr) : "";
    const line =
      said.split("\n").find((text) => /error|fatal|could not/i.test(text)) ??
      (cause instanceof Error ? cause.message : "");
    throw new Error(`the embedded PostgreSQL could not be initialized: ${line.trim()}`, { cause });
  }
  await rm(passwordForInitdb);
}

/** Makes `home` a symbolic link to a system folder if the database's user cannot enter its location. */
async function placeFor(home: string, user: OsUser | undefined): Promise<string> {
  const dataDir = dirname(home);
  if (user === undefined || (await canEnter(dataDir, user))) return home;
  // The data folder belongs to the service, so execute permission for others may be added. That is enough unless a
  // folder above is closed as well.
  if (await canEnter(dirname(dataDir), user)) {
    await chmod(dataDir, 0o711);
    if (await canEnter(dataDir, user)) return home;
  }
  return join(SYSTEM_FOLDER, `cluster-${randomBytes(8).toString("hex")}`);
}

/** Builds the cluster in a temporary folder and renames it, so that an incomplete one is never visible. */
async function initialize(home: string, binaries: Binaries, user: OsUser | undefined, log: Logger): Promise<void> {
  const lost = await readlink(home).catch(ignoreError);
  if (lost !== undefined)
    throw new Error(
      `${home} points to ${lost}, which contains no database; remove the link to start with a new database`,
    );
  const place = await placeFor(home, user);
  const draft = place === home ? `${home}.${randomBytes(6).toString("hex")}` : place;
  await mkdir(dirname(draft), { recursive: true, mode: 0o755 });
  await mkdir(draft, { mode: 0o711 });
  await chmod(draft, 0o711);
  try {
    await runInitdb(draft, binaries, user);
    if (place === home) await rename(draft, home);
    else {
      await symlink(place, home);
      log.warn(`the database's user cannot enter ${dirname(home)}; the database is kept in ${place}`);
    }
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was faster; its cluster is used.
    if (!(await exists(join(home, "data")))) throw error;
  }
}

async function assertSameVersion(pgdata: string, binaries: Binaries, user: OsUser | undefined): Promise<void> {
  const made = (await readFile(join(pgdata, "PG_VERSION"), "utf8")).trim();
  const { stdout } = await promisify(execFile)(binaries.postgres, ["--version"], {
    cwd: "/",
    env: PROGRAM_ENV,
    ...user,
  });
  const have = /\d+/.exec(stdout)?.[0];
  if (have !== made) {
    throw new Error(
      `${pgdata} was created by PostgreSQL ${made}, but this is PostgreSQL ${have ?? "unknown"}; migrate it with pg_dump, or use PostgreSQL ${made}`,
    );
  }
}

/**
 * The user that runs PostgreSQL: the owner of existing data, otherwise an unprivileged user if the service runs as
 * root.
 */
async function chooseUser(pgdata: string): Promise<OsUser | undefined> {
  const made = await exists(pgdata);
  if (!isRoot()) {
    if (made && (await ownerOf(pgdata)).uid !== process.getuid?.()) {
      throw new Error(`${pgdata} belongs to another user; start the service as that user, or set DATA_DIR`);
    }
    return undefined;
  }
  const user = made ? await ownerOf(pgdata) : await findUnprivilegedUser();
  if (user === undefined || user.uid === 0) {
    throw new Error(
      "PostgreSQL does not run as root and there is no user «postgres» or «nobody» to run it as; start the service as an ordinary user, or set DATABASE_URL",
    );
  }
  return user;
}

/**
 * Returns the cluster in `<dataDir>/postgres` and creates it on the first call. Safe with several processes at once.
 */
export async function prepareCluster(dataDir: string, log: Logger): Promise<Cluster> {
  const home = join(resolve(dataDir), "postgres");
  const made = await exists(join(home, "data"));
  const user = await chooseUser(join(home, "data"));
  const binaries = await findBinaries(user);
  if (!(await exists(dataDir))) await mkdir(dataDir, { recursive: true, mode: isRoot() ? 0o711 : 0o700 });
  if (!made) await initialize(home, binaries, user, log);
  // The home may be a link, because its location is a folder that the database's user cannot enter.
  const place = await realpath(home);
  const pgdata = join(place, "data");
  if (made) await assertSameVersion(pgdata, binaries, user);
  const password = (await readFile(join(place, "password"), "utf8")).trim();
  return { pgdata, logFile: join(place, "postgres.log"), portFile: join(place, "port"), password, binaries, user };
}
