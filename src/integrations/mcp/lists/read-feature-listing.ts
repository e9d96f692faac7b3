import type { Logger } from "pino";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { FeatureListing, ListedFeature } from "../../features.ts";
import { keepFields } from "./listed-fields.ts";
import { listPages, type ListOf, type ListOptions } from "./list-pages.ts";
import type { Requester } from "../sessions/request.ts";
import type { UpstreamSession } from "../sessions/session.ts";

/** Further items are ignored. */
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
  const list = (
    isDeclared: boolean,
    method: string,
    key: string,
    read: (value: JsonValue) => ListedFeature | undefined,
  ) => (isDeclared ? listItems(deps, session, { method, key }, read, options) : EMPTY_LIST);
  const lists = await Promise.all([
    list(hasResources, "resources/list", "resources", readResource),
    list(hasResources, "resources/templates/list", "resourceTemplates", readTemplate),
    list(prompts !== undefined, "prompts/list", "prompts", readPrompt),
  ]);
  return {
    capabilities: {
      resources: hasResources,
      subscribe: isJsonObject(declared) && declared.subscribe === true,
      prompts: prompts !== undefined,
      completions: completions !== undefined,
      logging: logging !== undefined,
      listChanged: session.notifiesListChanges,
    },
    resources: lists[0].items,
    resourceTemplates: lists[1].items,
    prompts: lists[2].items,
    bytes: lists.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

const EMPTY_LIST = { items: [], bytes: 0 };

/** The first of two items with the same key wins. */
async function listItems(
  deps: { requester: Requester; log: Logger },
  session: UpstreamSession,
  list: Pick<ListOf, "method" | "key">,
  read: (value: JsonValue) => ListedFeature | undefined,
  options: ListOptions,
): Promise<{ items: readonly ListedFeature[]; bytes: number }> {
  const items = new Map<string, ListedFeature>();
  let leftOut = 0;
  const add = (value: JsonValue): boolean => {
    const item = read(value);
    if (item === undefined || items.has(item.key)) leftOut += 1;
    else if (items.size < MAX_ITEMS) items.set(item.key, item);
    return items.size < MAX_ITEMS;
  };
  const { bytes } = await listPages(deps, session, { ...list, maxBytes: MAX_BYTES, add }, options);
  if (leftOut > 0) {
    const { method } = list;
    deps.log.warn({ host: session.endpoint.label, method, count: leftOut }, "items of an MCP server skipped");
  }
  return { items: [...items.values()], bytes };
}

function readResource(value: JsonValue): ListedFeature | undefined {
  return readNamed(value, "uri", RESOURCE_FIELDS);
}

function readTemplate(value: JsonValue): ListedFeature | undefined {
  return readNamed(value, "uriTemplate", TEMPLATE_FIELDS);
}

function readNamed(value: JsonValue, keyName: string, fields: readonly string[]): ListedFeature | undefined {
  const key = isJsonObject(value) ? value[keyName] : undefined;
  if (!isJsonObject(value) || typeof key !== "string" || !URI.test(key)) return undefined;
  const rest: JsonObject = keepFields(value, fields);
  return { key, item: { [keyName]: key, name: key, ...rest } };
}

function readPrompt(value: JsonValue): ListedFeature | undefined {
  const name = isJsonObject(value) ? value.name : undefined;
  if (!isJsonObject(value) || typeof name !== "string" || !NAME.test(name) || name.trim() !== name) return undefined;
  return { key: name, item: { name, ...keepFields(value, PROMPT_FIELDS) } };
}
