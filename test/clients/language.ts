/** How a finished program is run. */
export interface Program {
  /** The file that it is made of. */
  readonly example: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What it prints; the story of `examples/` unless told. */
  readonly story?: RegExp;
  /** The folder it runs in; the project's unless told. */
  readonly folder?: string;
}

/** A language that has a client. */
export interface Language {
  readonly name: string;
  /** The commands without which nothing can be built; one that is missing skips the language, by name. */
  readonly needs: readonly string[];
  /** Generates, installs and compiles in an empty folder what `examples/` needs. */
  build(folder: string): Promise<readonly Program[]>;
}
