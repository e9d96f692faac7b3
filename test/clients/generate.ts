import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parse } from "yaml";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import { runTool } from "./run-tool.ts";

interface Template {
  readonly plugins: readonly { readonly remote: string; readonly out: string }[];
}

/** What stands in for a remote plugin of `buf.gen.clients.yaml`, as Buf's configuration has it. */
export type LocalPlugins = Readonly<Record<string, object>>;

/** Generates one language's code by `buf.gen.clients.yaml`, with local plugins and nothing else changed. */
export async function generate(out: string, plugins: LocalPlugins, folder: string): Promise<void> {
  const template = parse(await readFile(join(PROJECT_FOLDER, "buf.gen.clients.yaml"), "utf8")) as Template;
  const local = template.plugins
    .filter((plugin) => plugin.out === out)
    .map(({ remote, ...rest }) => {
      if (plugins[remote] === undefined)
        throw new Error(`buf.gen.clients.yaml has ${remote}; nothing stands in for it`);
      return { ...plugins[remote], ...rest };
    });
  const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  const text = JSON.stringify({ ...template, plugins: local });
  await runTool(process.execPath, [buf, "generate", "--template", text, "--output", folder]);
}
