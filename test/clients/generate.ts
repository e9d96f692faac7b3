import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parse } from "yaml";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import { runTool } from "./run-tool.ts";

interface Template {
  readonly plugins: readonly { readonly remote: string; readonly out: string }[];
}

/** The local replacement of a remote plugin of `buf.gen.clients.yaml`, in Buf's configuration format. */
export type LocalPlugins = Readonly<Record<string, object>>;

/** Generates the code of one language with `buf.gen.clients.yaml`, with local plugins in place of remote ones. */
export async function generate(out: string, plugins: LocalPlugins, folder: string): Promise<void> {
  const template = parse(await readFile(join(PROJECT_FOLDER, "buf.gen.clients.yaml"), "utf8")) as Template;
  const local = template.plugins
    .filter((plugin) => plugin.out === out)
    .map(({ remote, ...rest }) => {
      if (plugins[remote] === undefined)
        throw new Error(`buf.gen.clients.yaml uses ${remote}, which has no local replacement`);
      return { ...plugins[remote], ...rest };
    });
  const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  const text = JSON.stringify({ ...template, plugins: local });
  await runTool(process.execPath, [buf, "generate", "--template", text, "--output", folder]);
}
