import { type Caller, toActor } from "../identity/actor.ts";
import { mayCreateCredentials, type Principal, reaches, reachesAll } from "../identity/principal.ts";
import { DomainError } from "../domain-error.ts";
import type { Catalog, Integration } from "../integrations/integration.ts";
import type { SchemaValidator } from "../integrations/schema-checks/json-schema.ts";
import type { JsonObject } from "../json.ts";
import type { AuthorizationAddresses } from "./authorization-address.ts";
import { applyChange, changedFields, type ConnectionChange } from "./change.ts";
import type { ConnectionEvent } from "./change-feed.ts";
import type { Connection, ConnectionDraft } from "./connection.ts";
import type { ConnectionStore } from "./connection-store.ts";
import type { ConnectionTools } from "./connection-tools.ts";
import type { ConnectionView } from "./connection-view.ts";
import { createKey, type CreatedConnection, toCreated } from "./create-once.ts";
import { prepareConnection } from "./create.ts";
import { checkVersion, type ExpectedVersions } from "./expected-versions.ts";
import { listTools, type ToolPage, type ToolQuery } from "./list-tools.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../page.ts";
import { connectionNotFound, reachableId } from "../identity/server-id.ts";

/** `page` is undefined if no page was requested. */
export interface ListedConnections {
  readonly connections: readonly Connection[];
  readonly page: { readonly totalCount: number; readonly hasMore: boolean } | undefined;
}

/**
 * Use cases for the caller's connections (SPEC «Endpoints»). `serverId` is the path parameter. Throws `not_found` for
 * a connection that is missing, deleted, of another account or outside a bound token.
 */
export interface Connections {
  /** With a repeated idempotency key, returns the result of the first request. */
  create(caller: Caller, draft: ConnectionDraft, idempotencyKey?: string): Promise<CreatedConnection>;
  list(principal: Principal, page: PageQuery): Promise<ListedConnections>;
  get(principal: Principal, serverId: string): Promise<Connection>;
  /** Throws `stale` if the connection has none of the expected versions, as `delete` does. */
  update(caller: Caller, serverId: string, change: ConnectionChange, expected?: ExpectedVersions): Promise<Connection>;
  delete(caller: Caller, serverId: string, expected?: ExpectedVersions): Promise<void>;
  listTools(
    principal: Principal,
    serverId: string,
    query: ToolQuery,
  ): Promise<ToolPage & { readonly connectionId: number }>;
}

export interface ConnectionsDeps {
  readonly catalog: Catalog;
  readonly validator: SchemaValidator;
  readonly store: ConnectionStore;
  readonly view: ConnectionView;
  readonly tools: ConnectionTools;
  readonly addresses: AuthorizationAddresses;
  /** Called after every change, before the response, to drop this replica's caches of the account. */
  readonly onChange: (event: ConnectionEvent) => void;
}

/** How often a change is applied again after a concurrent change. */
const MAX_TRIES = 5;

export function createConnections(deps: ConnectionsDeps): Connections {
  const { store } = deps;

  async function find(principal: Principal, serverId: string): Promise<Connection> {
    const id = reachableId(principal, serverId);
    const connection = id === undefined ? undefined : await store.find(principal.accountId, id);
    if (connection === undefined) throw connectionNotFound(serverId);
    return connection;
  }

  /** Oldest first. */
  async function seen(principal: Principal): Promise<readonly Connection[]> {
    const { accountId, connectionId } = principal;
    if (connectionId === undefined) {
      const all = await store.list(accountId);
      return reachesAll(principal) ? all : all.filter(({ id }) => reaches(principal, id));
    }
    const own = reaches(principal, connectionId) ? await store.find(accountId, connectionId) : undefined;
    return own === undefined ? [] : [own];
  }

  function integrationOf(connection: Connection): Integration {
    const integration = deps.catalog.get(connection.serverType);
    if (integration !== undefined) return integration;
    throw new DomainError("internal", `the integration ${connection.serverType} is not part of this installation`);
  }

  async function decide(before: Connection, change: ConnectionChange): ReturnType<typeof decideOn> {
    return decideOn(deps, integrationOf(before), before, change);
  }

  async function createOne(
    principal: Caller,
    draft: ConnectionDraft,
    idempotencyKey: string | undefined,
  ): Promise<CreatedConnection> {
    if (!reachesAll(principal)) {
      throw new DomainError("forbidden", "You do not have permission to create connections.");
    }
    const key = createKey(idempotencyKey, draft, principal.memberId);
    const earlier = key && (await store.findCreated(principal.accountId, key));
    if (earlier !== undefined) return earlier;
    // Validated before `adopt` stores anything.
    prepareConnection(principal.accountId, draft, deps.catalog, deps.validator);
    const configuration = await adopt(principal, deps.catalog.get(draft.serverType), draft.configuration);
    const adopted = { ...draft, configuration };
    const prepared = prepareConnection(principal.accountId, adopted, deps.catalog, deps.validator);
    const actor = toActor(principal);
    const created =
      key === undefined ? toCreated(await store.create(prepared, actor)) : await store.createOnce(prepared, actor, key);
    if (created.isRepeated) return created;
    deps.onChange({ accountId: principal.accountId, connectionId: created.id, event: "created" });
    return created;
  }

  return {
    async create(principal, draft, idempotencyKey) {
      const created = await createOne(principal, draft, idempotencyKey);
      if (created.status !== "needs_authorization") return created;
      // When a request is repeated, its owner may already have authorized or deleted the connection.
      const now = created.isRepeated ? await store.find(principal.accountId, created.id) : undefined;
      if (created.isRepeated && now?.needsAuthorization !== true) return created;
      // The connection exists, so if the database fails here, its owner can request an address later.
      const authorization = await deps.addresses.issue(principal.accountId, created.id).catch(undefinedIfUnavailable);
      return { ...created, authorization };
    },

    async list(principal, page) {
      checkPage(page);
      const { accountId } = principal;
      const wantsPage = page.limit !== undefined || page.offset !== undefined;
      if (reachesAll(principal) && wantsPage) {
        const { limit = DEFAULT_PAGE, offset = 0 } = page;
        const { connections, totalCount } = await store.listPage(accountId, limit, offset);
        return { connections, page: { totalCount, hasMore: offset + connections.length < totalCount } };
      }
      const all = await seen(principal);
      if (!wantsPage) return { connections: all, page: undefined };
      const { limit = DEFAULT_PAGE, offset = 0 } = page;
      const connections = all.slice(offset, offset + limit);
      return { connections, page: { totalCount: all.length, hasMore: offset + limit < all.length } };
    },

    get: find,

    async update(principal, serverId, wanted, expected) {
      if (wanted.clientSecret !== undefined && !mayCreateCredentials(principal)) {
        throw new DomainError("forbidden", "You do not have permission to update this connection.");
      }
      let change = wanted;
      if (wanted.configuration !== undefined) {
        const { serverType } = await find(principal, serverId);
        change = {
          ...wanted,
          configuration: await adopt(principal, deps.catalog.get(serverType), wanted.configuration),
        };
      }
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const before = await find(principal, serverId);
        const { after, effects } = await decide(before, change);
        // `save` replaces only `before`, so the checked version is the saved one.
        checkVersion(before, expected);
        if (after === before) return before;
        const saved = await store.save(before, after, effects, {
          actor: toActor(principal),
          fields: changedFields(before, after, wanted),
        });
        if (saved === undefined) continue;
        deps.onChange({ accountId: principal.accountId, connectionId: saved.id, event: "updated" });
        return saved;
      }
      throw new DomainError("conflict", "The connection is being changed by others at the same time; try again.");
    },

    async delete(principal, serverId, expected) {
      const id = reachableId(principal, serverId);
      if (id === undefined || !(await store.delete(principal.accountId, id, toActor(principal), expected)))
        throw connectionNotFound(serverId);
      deps.onChange({ accountId: principal.accountId, connectionId: id, event: "deleted" });
    },

    async listTools(principal, serverId, query) {
      const id = reachableId(principal, serverId);
      const connection = id === undefined ? undefined : await store.find(principal.accountId, id);
      if (connection === undefined) throw new DomainError("not_found", "MCP server connection not found");
      return { ...(await listTools(deps.tools, principal, connection, query)), connectionId: connection.id };
    },
  };
}

async function adopt(
  { accountId }: Principal,
  integration: Integration | undefined,
  configuration: JsonObject,
): Promise<JsonObject> {
  return (await integration?.adoptConfiguration?.(configuration, accountId)) ?? configuration;
}

async function decideOn(
  deps: ConnectionsDeps,
  integration: Integration,
  before: Connection,
  change: ConnectionChange,
): Promise<ReturnType<typeof applyChange>> {
  const needsSecrets = change.apiKey !== undefined || change.configuration !== undefined;
  const needsTools = change.disabledTools !== undefined || change.accessType === "individual";
  const sealed = needsSecrets
    ? await deps.store.sealedSecrets(before.accountId, before.id, before.keyVersion)
    : undefined;
  const secrets = sealed === undefined ? {} : deps.store.openSecrets(before.accountId, before.id, sealed);
  const toolIds = needsTools ? (await deps.tools.of(before)).map(({ id }) => id) : [];
  return applyChange(before, change, { integration, validator: deps.validator, secrets, toolIds });
}

function undefinedIfUnavailable(error: unknown): undefined {
  if (!(error instanceof DomainError) || error.kind !== "unavailable") throw error;
}
