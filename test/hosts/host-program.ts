import type { Lack, Step } from "./story.ts";

/**
 * A client in another language. It reads MATRIX (the stories with `url` and `control`) and TOKEN, and prints one line
 * of JSON for every step: `upstream`, `step` and `result`, which is `yes` or says what went wrong. A GET to
 * `<control>/started` or `<control>/canceled` is answered when the upstream has seen that of the call to cancel.
 */
export interface HostProgram {
  /** The library. */
  readonly name: string;
  readonly version: string;
  /** The commands required to build. The client is skipped by name if one is missing. */
  readonly needs: readonly string[];
  /** The steps that the library cannot do, with any upstream. */
  readonly lacks: Partial<Record<Step, Lack>>;
  /** Installs and compiles the program in an empty folder. */
  build(folder: string): Promise<HostCommand>;
}

export interface HostCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The working directory. Default: the project. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}
