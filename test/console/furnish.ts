import type { JsonObject } from "../../src/json.ts";
import type { Person } from "../identity/login/site.ts";
import { EVERYDAY_SCOPES } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { until } from "../support/until.ts";
import type { ConsoleStage } from "./console.ts";

/** An account with data on every page, and the ids of its connections. */
export interface Furnished {
  readonly owner: Owner;
  readonly bamboo: string;
  /** A remote MCP server with two changed tool definitions. */
  readonly handbook: string;
  /** A connection with a rejected key. */
  readonly failing: string;
}

/** Days of call history. */
const DAYS = 14;

function pageTool(name: string, description: string, more: JsonObject = {}): JsonObject {
  const properties = { path: { type: "string", description: "Where the page is." } };
  return { name, description, inputSchema: { type: "object", properties, required: ["path"] }, ...more };
}

const READS = { annotations: { readOnlyHint: true } };

const HANDBOOK: readonly JsonObject[] = [
  pageTool("search_pages", "Find pages of the handbook by words.", READS),
  pageTool("get_page", "Read a page of the handbook as Markdown.", READS),
  pageTool("list_spaces", "List the spaces of the handbook.", READS),
  pageTool("create_page", "Add a page to the handbook."),
  pageTool("delete_page", "Delete a page of the handbook for good.", { annotations: { destructiveHint: true } }),
];

export async function ownerOf({ site }: ConsoleStage, person: Person): Promise<Owner> {
  const account = await site.foundation.accounts.find(person.accountId);
  const request = { name: "Setup script", scope: EVERYDAY_SCOPES, connectionId: undefined, expiresInDays: undefined };
  const { token } = await site.foundation.personalAccessTokens.create(account, request);
  return createOwner(createProtocolClient("rest", site.url), token);
}

/** Makes the remote server announce a changed tool list, and waits until the proposed definitions are stored. */
async function offerOtherwise({ upstream }: ConsoleStage, owner: Owner, id: string): Promise<void> {
  upstream.tools = HANDBOOK.map(otherwise);
  upstream.tellsOfTools = true;
  const session = await owner.open();
  await owner.call("CallTool", { name: `list_spaces__${id}`, arguments: { path: "/" } }, session);
  upstream.tellsOfTools = false;
  await until(async () => (await owner.call("ListToolChanges", { server_id: id }))["pending_count"] === 2);
}

/** The proposed definitions of the handbook's server. */
function otherwise(tool: JsonObject): JsonObject {
  if (tool["name"] === "create_page") {
    const path = { type: "string", description: "Where the page is." };
    const audience = { type: "string", description: "Who may read it.", enum: ["everybody", "staff"] };
    const inputSchema = { type: "object", properties: { path, audience }, required: ["path", "audience"] };
    return { ...tool, description: "Add a page to the handbook, for everybody or for staff alone.", inputSchema };
  }
  if (tool["name"] !== "delete_page") return tool;
  return pageTool("delete_page", "Move a page of the handbook, and all below it, to the bin.");
}

/** Fills an account with connections in every state, tokens, clients and recent calls. */
export async function furnish(stage: ConsoleStage, person: Person): Promise<Furnished> {
  const owner = await ownerOf(stage, person);
  stage.upstream.tools = [...HANDBOOK];
  stage.upstream.onCall = (_name, { path }) => ({ content: [{ type: "text", text: `# ${String(path)}` }] });
  const bamboo = await owner.create({
    server_type: "bamboohr",
    name: "Acme People",
    access_type: "read",
    configuration: { company_domain: "acme", api_token: "0123456789abcdef0123456789abcdef01234567" },
  });
  const handbook = await owner.create({
    server_type: "mcp",
    name: "Acme Handbook",
    configuration: { url: stage.upstream.url },
  });
  await owner.waitFor(bamboo, "verified");
  await owner.waitFor(handbook, "verified");
  await offerOtherwise(stage, owner, handbook);
  stage.upstream.key = "the-one-that-it-wants";
  const failing = await owner.create({
    server_type: "mcp",
    name: "Staging",
    configuration: { url: stage.upstream.url, api_token: "not-that-one" },
  });
  await owner.waitFor(failing, "failed");
  stage.upstream.key = undefined;
  await owner.create({ server_type: "github", name: "Acme Code", access_type: "read", configuration: {} });
  await owner.call("CreatePersonalAccessToken", { name: "My laptop", scopes: ["mcp.read", "mcp.write"] });
  await owner.call("CreatePersonalAccessToken", { name: "Nightly build", scopes: ["mcp.read"], server_id: bamboo });
  await owner.call("CreateOAuthClient", { name: "Nightly report", scopes: ["mgmt.read"] });
  await owner.call("CreateOAuthClient", {
    name: "Acme desk",
    scopes: ["mcp.read", "mcp.write"],
    redirect_uris: ["https://desk.example.com/callback"],
  });
  await stage.site.query("update personal_access_token set created_at = now() - interval '120 days' where name = $1", [
    "Nightly build",
  ]);
  await stage.site.query(
    `insert into call_record (account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome,
       request_bytes, response_bytes)
     select $1, case when i % 3 = 0 then $3::bigint else $2::bigint end,
       (array['list_employees', 'get_employee', 'search_pages', 'list_time_off_requests'])[1 + i % 4],
       'client_nightly', now() - (i * interval '40 minutes'), 60 + (i * 37) % 240 + 600 * (i % 17 / 16),
       case when i % 23 = 0 then 'upstream_error' when i % 31 = 0 then 'tool_error' else 'ok' end, 40, 1200
     from generate_series(0, $4::int) as i`,
    [person.accountId, bamboo, handbook, DAYS * 36],
  );
  return { owner, bamboo, handbook, failing };
}
