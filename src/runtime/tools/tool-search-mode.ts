import type { Principal } from "../../identity/principal.ts";
import type { AccountSettings } from "../../connections/settings/account-settings.ts";
import type { RankedPage, ToolRanking } from "../search/rank-tools.ts";
import type { SettingsView } from "../../connections/settings/settings-view.ts";
import type { SchemaValidator } from "../../integrations/schema-checks/json-schema.ts";
import { SchemaCheckRefused } from "../../integrations/schema-checks/check-refused.ts";
import { errorResult, type CallResult, type ToolDefinition } from "../../integrations/tool.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { CALL_TOOL, DEFAULT_FIND_LIMIT, FIND_TOOLS, isMetaToolName, MAX_LISTED_TOOLS } from "./meta-tools.ts";
import type { NamedTool } from "./resolve-tool.ts";
import type { ListedCallable, ListedTool } from "./session-tools.ts";
import type { CallableTool } from "./tools-in-view.ts";

/** Arguments that do not match the schema. */
export interface Refused {
  readonly kind: "refused";
  readonly result: CallResult;
}

export interface FindToolsRequest {
  readonly kind: "wish";
  readonly query: string;
  readonly limit: number;
}

export interface InnerCall {
  readonly kind: "call";
  readonly name: string;
  readonly args: JsonObject;
}

/** Replaces a long list of tools with `find_tools` and `call_tool`. */
export interface ToolSearchMode {
  /**
   * Whether the mode applies: the list has more than 100 tools and the account enabled `tool_search`. Returns no
   * promise for short lists.
   */
  isOnFor(principal: Principal, tools: readonly ListedTool[]): boolean | Promise<boolean>;
  readFindTools(args: JsonObject): FindToolsRequest | Refused;
  readCallTool(args: JsonObject): InnerCall | Refused;
  find(
    tools: readonly ListedCallable[],
    wish: FindToolsRequest,
  ): Promise<RankedPage<{ readonly callable: CallableTool }>>;
}

export function createToolSearchMode(deps: {
  readonly settings: Pick<SettingsView, "of">;
  readonly ranking: ToolRanking;
  readonly validator: SchemaValidator;
}): ToolSearchMode {
  function refusal({ inputSchema }: ToolDefinition, args: JsonObject): Refused | undefined {
    try {
      const problem = deps.validator.validateOwn(inputSchema, args);
      return problem === undefined ? undefined : refused(`The arguments do not fit the tool's schema. ${problem}`);
    } catch (error) {
      if (error instanceof SchemaCheckRefused) return refused(error.message);
      throw error;
    }
  }

  return {
    isOnFor({ accountId }, tools) {
      if (tools.length <= MAX_LISTED_TOOLS) return false;
      const settings = deps.settings.of(accountId);
      return settings instanceof Promise ? settings.then(wantsSearch) : wantsSearch(settings);
    },

    readFindTools(args) {
      const { query, limit = DEFAULT_FIND_LIMIT } = args;
      const wrong = refusal(FIND_TOOLS, args);
      if (wrong !== undefined) return wrong;
      if (typeof query === "string" && typeof limit === "number") return { kind: "wish", query, limit };
      return refused("query must be a string and limit a number.");
    },

    readCallTool(args) {
      const { name, arguments: inner = {} } = args;
      const wrong = refusal(CALL_TOOL, args);
      if (wrong !== undefined) return wrong;
      if (typeof name !== "string" || !isJsonObject(inner))
        return refused("name must be a string and arguments an object.");
      if (isMetaToolName(name)) return refused(`${name} cannot be called through ${CALL_TOOL.name}. Call it directly.`);
      return { kind: "call", name, args: inner };
    },

    find: (tools, { query, limit }) => deps.ranking.rank(query, candidates(tools), { limit, offset: 0 }),
  };
}

function* candidates(tools: readonly ListedCallable[]) {
  for (const { definition, callable } of tools) yield { connection: callable.connection, definition, callable };
}

function refused(sentence: string): Refused {
  return { kind: "refused", result: errorResult(sentence) };
}

function wantsSearch({ toolSearch }: AccountSettings): boolean {
  return toolSearch;
}

/** The result of `find_tools`. */
export function foundResult(found: readonly NamedTool[], totalCount: number): CallResult {
  const structuredContent = { tools: found.map(describe), total_count: totalCount };
  const text = found.length === 0 ? NOTHING_FOUND : JSON.stringify(structuredContent);
  return { content: [{ type: "text", text }], isError: false, structuredContent };
}

const NOTHING_FOUND = "No tool matches these words. Try other or fewer words.";

function describe({ name, callable: { tool, connection } }: NamedTool): JsonObject {
  const { description, inputSchema, readOnly } = tool.definition;
  return { name, description, inputSchema, readOnly, connection: connection.name };
}
