import { createRequire } from "node:module";
import type { JsonObject } from "../../src/json.ts";
import type { Lack, Step } from "./story.ts";

/** A host that this process runs. */
export interface Host {
  readonly name: string;
  readonly version: string;
  /** The steps that it cannot do, with any upstream. */
  readonly lacks: Partial<Record<Step, Lack>>;
  open(url: URL, token: string): Promise<OpenHost>;
}

export interface CallOptions {
  readonly onProgress?: () => void;
  readonly signal?: AbortSignal;
}

/** A host that is connected to one address. Its person answers every form with `green`. */
export interface OpenHost {
  tools(): Promise<readonly string[]>;
  /** Returns the text of the result. Rejects if the call fails or is canceled. */
  call(tool: string, args: JsonObject, options?: CallOptions): Promise<string>;
  close(): Promise<void>;
}

/** The answer of the person to the form. */
export const GREEN = { action: "accept" as const, content: { color: "green" } };

/** The text of a result. */
export function textOf(result: unknown): string {
  const { content = [] } = Object(result) as { content?: { text?: string }[] };
  return content.map(({ text = "" }) => text).join("\n");
}

/** The installed version of a package. */
export function versionOf(name: string): string {
  const { devDependencies } = createRequire(import.meta.url)("../../package.json") as {
    devDependencies: Record<string, string>;
  };
  return devDependencies[name] ?? "";
}
