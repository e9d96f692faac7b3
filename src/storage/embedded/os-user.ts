import { readFile, realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** A user of the operating system. */
export interface OsUser {
  readonly uid: number;
  readonly gid: number;
}

/** Accounts that a root process may hand the database to, most fitting first. */
const UNPRIVILEGED_NAMES = ["postgres", "nobody"];

/** Whether this process is root, as which PostgreSQL refuses to run. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Whom a root process runs a new database as; undefined where the system has no fitting account. */
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

/** The owner of a path. */
export async function ownerOf(path: string): Promise<OsUser> {
  const { uid, gid } = await stat(path);
  return { uid, gid };
}

async function allows(path: string, user: OsUser, bits: number): Promise<boolean> {
  const { mode, uid, gid } = await stat(path);
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

/** Whether a user may pass through a folder and all those above it. */
export async function canEnter(folder: string, user: OsUser): Promise<boolean> {
  let current = await realpath(folder);
  for (;;) {
    if (!(await allows(current, user, 0o1))) return false;
    const parent = dirname(current);
    if (parent === current) return true;
    current = parent;
  }
}

/** Whether a user may read a file, by its mode and those of the folders above it (access lists are not looked at). */
export async function canRead(file: string, user: OsUser): Promise<boolean> {
  return (await allows(file, user, 0o4)) && (await canEnter(dirname(file), user));
}
