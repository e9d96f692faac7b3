import type { Logger } from "pino";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { FeatureListing, ListedFeature } from "../../features.ts";
import { SKILLS_EXTENSION, skillSettings } from "../../skills.ts";
import { declaresTasks, TASKS_EXTENSION } from "../../tasks.ts";
import { listedText } from "./listed-text.ts";
import { readSkill } from "./read-skill.ts";
import { listPages, type ListedPages, type ListOf, type ListOptions } from "./list-pages.ts";
import type { Requester } from "../sessions/request.ts";
import { hasSessionTasks } from "../sessions/task-support.ts";
import { UI_EXTENSION, type UpstreamSession } from "../sessions/session.ts";

const MAX_ITEMS = 5_000;
const MAX_BYTES = 4 * 1024 * 1024;

/** Printable and at most 128 characters, as for tools. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u;
/** An absolute URI or URI template. */
const URI = /^[A-Za-z][A-Za-z0-9+.-]{0,62}:[^\p{C}\p{Zl}\p{Zp}]{0,2048}$/u;

const RESOURCE_FIELDS = ["name", "title", "description", "mimeType", "size", "icons", "annotations", "_meta"];
const TEMPLATE_FIELDS = ["name", "title", "description", "mimeType", "icons", "annotations", "_meta"];
const PROMPT_FIELDS = ["title", "description", "arguments", "icons", "_meta"];

/** Lists everything besides tools that a server declares. Throws UpstreamFailure, or the signal's reason. */
export async function readFeatureListing(
  deps: { requester: Requester; log: Logger },
  session: UpstreamSession,
  options: ListOptions,
): Promise<FeatureListing> {
  const { resources: declared, prompts, completions, logging } = session.capabilities;
  const hasResources = declared !== undefined;
  const list = (isDeclared: boolean, method: string, key: string, read: ReadItem) =>
    isDeclared ? listItems(deps, session, { method, key }, read, options) : EMPTY_LIST;
  const lists = await Promise.all([
    list(hasResources, "resources/list", "resources", readResource),
    list(hasResources, "resources/templates/list", "resourceTemplates", readTemplate),
    list(prompts !== undefined, "prompts/list", "prompts", readPrompt),
    list(skillSettings(session.capabilities) !== undefined, "skills/list", "skills", readSkill),
  ]);
  const kinds = ["resources", "resource templates", "prompts", "skills"];
  const ttls = lists.flatMap(({ ttlMs }) => (ttlMs === undefined ? [] : [ttlMs]));
  return {
    server: session.server,
    capabilities: {
      resources: hasResources,
      subscribe: isJsonObject(declared) && declared.subscribe === true,
      prompts: prompts !== undefined,
      completions: completions !== undefined,
      logging: logging !== undefined,
      listChanged: session.notifiesListChanges,
      extensions: passedOnExtensions(session),
    },
    resources: lists[0].items,
    resourceTemplates: lists[1].items,
    prompts: lists[2].items,
    skills: lists[3].items,
    truncated: kinds.filter((_kind, index) => lists[index]?.isTruncated === true),
    ttlMs: ttls.length === 0 ? undefined : Math.min(...ttls),
    bytes: lists.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

interface ItemList extends ListedPages {
  readonly items: readonly ListedFeature[];
}

const EMPTY_LIST: ItemList = { items: [], bytes: 0, ttlMs: undefined, isTruncated: false };

type ReadItem = (value: JsonValue, text: string) => ListedFeature | undefined;

/** The extensions whose methods the service passes on. */
function passedOnExtensions(session: UpstreamSession): JsonObject {
  const { extensions } = session.capabilities;
  const hasTasks = declaresTasks(session.capabilities) || hasSessionTasks(session);
  const ui = isJsonObject(extensions) ? extensions[UI_EXTENSION] : undefined;
  const skills = skillSettings(session.capabilities);
  return {
    ...(isJsonObject(ui) && { [UI_EXTENSION]: ui }),
    ...(skills !== undefined && { [SKILLS_EXTENSION]: skills }),
    ...(hasTasks && { [TASKS_EXTENSION]: {} }),
  };
}

/** The first of two items with the same key wins. */
async function listItems(
  deps: { requester: Requester; log: Logger },
  session: UpstreamSession,
  list: Pick<ListOf, "method" | "key">,
  read: ReadItem,
  options: ListOptions,
): Promise<ItemList> {
  const items = new Map<string, ListedFeature>();
  let leftOut = 0;
  let hasMore = false;
  const add = (value: JsonValue, text: string): boolean => {
    const item = read(value, text);
    if (item === undefined || items.has(item.key)) leftOut += 1;
    else if (items.size < MAX_ITEMS) items.set(item.key, item);
    else hasMore = true;
    return !hasMore;
  };
  const pages = await listPages(deps, session, { ...list, maxBytes: MAX_BYTES, add }, options);
  if (leftOut > 0) {
    const { method } = list;
    deps.log.warn({ host: session.endpoint.label, method, count: leftOut }, "items of an MCP server skipped");
  }
  return { ...pages, items: [...items.values()] };
}

function readResource(value: JsonValue, text: string): ListedFeature | undefined {
  return readNamed(value, text, "uri", RESOURCE_FIELDS);
}

function readTemplate(value: JsonValue, text: string): ListedFeature | undefined {
  return readNamed(value, text, "uriTemplate", TEMPLATE_FIELDS);
}

function readNamed(
  value: JsonValue,
  text: string,
  keyName: string,
  fields: readonly string[],
): ListedFeature | undefined {
  const key = isJsonObject(value) ? value[keyName] : undefined;
  if (!isJsonObject(value) || typeof key !== "string" || !URI.test(key)) return undefined;
  const name = typeof value.name === "string" ? {} : { name: JSON.stringify(key) };
  return { key, json: listedText(value, text, fields, name) };
}

function readPrompt(value: JsonValue, text: string): ListedFeature | undefined {
  const name = isJsonObject(value) ? value.name : undefined;
  if (!isJsonObject(value) || typeof name !== "string" || !NAME.test(name) || name.trim() !== name) return undefined;
  return { key: name, json: listedText(value, text, PROMPT_FIELDS) };
}
