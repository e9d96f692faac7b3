import { isJsonObject, type JsonObject } from "../json.ts";

/** The extension for skills (SEP-2640). */
export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";

/** Returns the settings with which a server declares the extension, or undefined if it does not. */
export function skillSettings({ extensions }: { readonly extensions?: unknown }): JsonObject | undefined {
  const settings = isJsonObject(extensions) ? extensions[SKILLS_EXTENSION] : undefined;
  return isJsonObject(settings) ? settings : undefined;
}

/** Whether a server that declares the extension lists the files of a directory. */
export function readsDirectories(capabilities: { readonly extensions?: unknown }): boolean {
  return skillSettings(capabilities)?.directoryRead === true;
}
