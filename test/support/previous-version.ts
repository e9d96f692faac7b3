import { execFileSync } from "node:child_process";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT_FOLDER } from "./child-process.ts";

/** The version that replicas are upgraded from: the last release. */
const PREVIOUS_COMMIT = "3c821f32a125bbe57673367f630fdc6bf07ee7fd";

/** The source of the previous version, with the dependencies of this one. */
export interface PreviousVersion {
  readonly folder: string;
  remove(): Promise<void>;
}

/** The reason why the previous version is unavailable; undefined if it is available. */
export function previousVersionMissing(): string | undefined {
  try {
    execFileSync("git", ["cat-file", "-e", `${PREVIOUS_COMMIT}^{commit}`], { cwd: PROJECT_FOLDER, stdio: "ignore" });
    return undefined;
  } catch {
    return `the Git history does not contain ${PREVIOUS_COMMIT}; fetch it with git fetch --unshallow`;
  }
}

export async function checkOutPrevious(): Promise<PreviousVersion> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-previous-"));
  const archive = execFileSync("git", ["archive", PREVIOUS_COMMIT, "src", "gen", "openapi", "proto", "package.json"], {
    cwd: PROJECT_FOLDER,
    maxBuffer: 2 ** 28,
  });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  await symlink(join(PROJECT_FOLDER, "node_modules"), join(folder, "node_modules"));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
