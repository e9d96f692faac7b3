import { readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** An operating system user. */
export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** Users that a root process may run the database as, in order of preference. */
const UNPRIVILEGED_NAMES = ["postgres", "nobody"];

/** Whether this process is root. PostgreSQL refuses to run as root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The user for a new database of a root process; undefined if the system has none. */
export async function findUnprivilegedUser(): Promise<OsUser | undefined> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  for (const name of UNPRIVILEGED_NAMES) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(":");
    const uid = Number(fields?.[2]);
    const gid = Number(fields?.[3]);
    if (Number.isInteger(uid) && Number.isInteger(gid) && uid > 0) return { uid, gid };
  }
  return undefined;
}

/** Returns the owner of a path. */
export async function ownerOf(path: string): Promise<OsUser> {
  const { uid, gid } = await stat(path);
  return { uid, gid };
}

async function allows(path: string, user: OsUser, bits: number): Promise<boolean> {
  const { mode, uid, gid } = await stat(path);
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

/** Whether a user may enter a folder and all folders above it. */
export async function canEnter(folder: string, user: OsUser): Promise<boolean> {
  let current = await realpath(folder);
  for (;;) {
    if (!(await allows(current, user, 0o1))) return false;
    const parent = dirname(current);
    if (parent === current) return true;
    current = parent;
  }
}

/** Whether a user may read a file, by its mode and those of the folders above (ignores access lists). */
export async function canRead(file: string, user: OsUser): Promise<boolean> {
  return (await allows(file, user, 0o4)) && (await canEnter(dirname(file), user));
}
