import { isJsonObject, roundNumbers, type JsonObject, type JsonValue } from "../../../json.ts";
import type { ListedFeature } from "../../features.ts";
import { listedText } from "./listed-text.ts";

const MANIFEST = "/SKILL.md";
/** An absolute URI with an authority, and without query and fragment. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]{0,62}:\/\/[^\p{C}\p{Zl}\p{Zp}?#]{1,2048}$/u;
const NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** Limits of the Agent Skills specification, in characters. */
const MAX_DESCRIPTION = 1_024;
const MAX_COMPATIBILITY = 500;

/**
 * Reads an entry of `skills/list`. Returns undefined for one that breaks a rule of SEP-2640 or of Agent Skills: a host
 * rejects the whole list for it, with the skills of other connections. The entry cannot be repaired, because its
 * frontmatter must equal that of the file.
 */
export function readSkill(value: JsonValue, text: string): ListedFeature | undefined {
  if (!isJsonObject(value)) return undefined;
  const { uri, frontmatter, resources } = value;
  if (typeof uri !== "string" || !URI.test(uri) || !uri.endsWith(MANIFEST)) return undefined;
  const root = uri.slice(0, -MANIFEST.length);
  if (!isJsonObject(frontmatter) || !isFrontmatter(frontmatter, decoded(root.slice(root.lastIndexOf("/") + 1))))
    return undefined;
  if (resources !== "dynamic" && !areFiles(resources, root)) return undefined;
  return { key: uri, json: listedText(value, text, ["_meta"]) };
}

function isFrontmatter({ name, description, compatibility, metadata }: JsonObject, directory: string): boolean {
  return (
    name === directory &&
    NAME.test(directory) &&
    isTextUpTo(description, MAX_DESCRIPTION) &&
    (compatibility === undefined || isTextUpTo(compatibility, MAX_COMPATIBILITY)) &&
    (metadata === undefined ||
      (isJsonObject(metadata) && Object.values(metadata).every((entry) => typeof entry === "string")))
  );
}

function isTextUpTo(value: JsonValue | undefined, limit: number): boolean {
  return typeof value === "string" && value !== "" && (value.length <= limit || Array.from(value).length <= limit);
}

/** Whether these are files of one skill, each listed once, its `SKILL.md` among them. */
function areFiles(resources: JsonValue | undefined, root: string): boolean {
  if (!Array.isArray(resources)) return false;
  const uris = new Set(resources.flatMap((file) => (isJsonObject(file) && isFile(file, root) ? [file.uri] : [])));
  return uris.size === resources.length && uris.has(root + MANIFEST);
}

function isFile({ uri, digest, size }: JsonObject, root: string): boolean {
  if (typeof uri !== "string" || !URI.test(uri) || !uri.startsWith(`${root}/`)) return false;
  const rounded = size === undefined ? undefined : roundNumbers(size);
  return (
    typeof digest === "string" &&
    DIGEST.test(digest) &&
    typeof rounded === "number" &&
    Number.isInteger(rounded) &&
    rounded >= 0 &&
    uri
      .slice(root.length + 1)
      .split("/")
      .every((segment) => !["", ".", ".."].includes(decoded(segment)))
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
