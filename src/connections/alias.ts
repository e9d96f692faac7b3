import { invalid } from "../domain-error.ts";

/** In characters. Leaves most of a listed tool name's length to the tool's own name. */
const MAX_ALIAS = 20;

/** Contains no `__`, which separates the alias from the name of a tool. */
const ALIAS = /^[a-z0-9]+(?:[_-][a-z0-9]+)*$/;

/** Throws `invalid` unless the text can be an alias. */
export function checkAlias(alias: string): string {
  if (alias.length <= MAX_ALIAS && ALIAS.test(alias)) return alias;
  throw invalid(
    "alias",
    `alias must have 1 to ${MAX_ALIAS} characters: words of a-z and 0-9, joined by single _ or -, such as github_work.`,
  );
}

/** The beginning of a text as an alias; undefined if none of its characters can be part of one. */
function toAlias(text: string, limit: number): string | undefined {
  const words = text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_");
  const alias = words.replace(/^_/, "").slice(0, limit).replace(/_$/, "");
  return alias === "" ? undefined : alias;
}

/** The values from which an alias is made. */
export interface AliasSource {
  readonly name: string;
  readonly serverType: string;
}

function withSuffix({ name, serverType }: AliasSource, suffix: string): string {
  const limit = MAX_ALIAS - suffix.length;
  return (toAlias(name, limit) ?? toAlias(serverType, limit) ?? "connection") + suffix;
}

/** Makes the alias of a new connection from its name, with a number if the alias is taken. */
export function freeAlias(source: AliasSource, taken: ReadonlySet<string>): string {
  let alias = withSuffix(source, "");
  for (let number = 2; taken.has(alias); number += 1) alias = withSuffix(source, `_${number}`);
  return alias;
}

/** The alias of a connection from before aliases were stored. The id makes it unique. */
export function aliasWithId(source: AliasSource, id: number): string {
  return withSuffix(source, `_${id}`);
}
