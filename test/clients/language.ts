/** The command that runs a compiled program. */
export interface Program {
  /** Its source file. */
  readonly example: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The expected output. Default: the output of all `examples/`. */
  readonly story?: RegExp;
  /** The working directory. Default: the project. */
  readonly folder?: string;
}

/** A language with a client. */
export interface Language {
  readonly name: string;
  /** The commands required to build. The language is skipped by name if one is missing. */
  readonly needs: readonly string[];
  /** Generates, installs and compiles the code of `examples/` in an empty folder. */
  build(folder: string): Promise<readonly Program[]>;
}
