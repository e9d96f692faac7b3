import { type Caller, toActor } from "../../identity/actor.ts";
import type { Principal } from "../../identity/principal.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import type { Catalog, ToolChange } from "../../integrations/integration.ts";
import type { ConnectionEvent } from "../change-feed.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { Connections } from "../connections.ts";
import type { ConnectionTools } from "../connection-tools.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../../page.ts";
import type { CurrentTools } from "./current-tools.ts";
import {
  DEFINITION_PARTS,
  digestOfChanges,
  type DefinitionPart,
  type PendingToolChange,
  pendingChangesOf,
} from "./pending-changes.ts";

export interface ToolChangeQuery extends PageQuery {
  /** `pending` or `past`. Undefined means both. */
  readonly status?: string | undefined;
  /** A tool name. */
  readonly tool?: string | undefined;
  /** One of DEFINITION_PARTS. Selects pending changes of that part. */
  readonly part?: string | undefined;
}

export interface ListedToolChanges {
  /** Past changes of the connection's document, newest first. */
  readonly past: readonly ToolChange[];
  /** A page of changes that wait for approval, by name. */
  readonly pending: readonly PendingToolChange[];
  /** The number of pending changes on all pages. */
  readonly pendingCount: number;
  readonly hasMore: boolean;
  /** The digest of all pending changes, regardless of the filters. */
  readonly digest: string;
}

/** The changes to accept, one by one, or all of them by `digest`. */
export interface AcceptedChanges {
  readonly changes: readonly { readonly tool: string; readonly digest: string }[];
  readonly digest: string | undefined;
}

/** The accepted tools, and how many changes still wait. */
export interface Acceptance {
  readonly accepted: readonly string[];
  readonly remaining: number;
}

/** Use cases for reviewing tool changes. `serverId` is the path parameter. Throws `not_found` as `Connections` does. */
export interface ToolChangeReview {
  list(principal: Principal, serverId: string, query: ToolChangeQuery): Promise<ListedToolChanges>;
  /**
   * Makes the proposed definitions current. Throws `stale` and accepts none if the upstream now proposes others.
   * Accepting a current definition again is allowed.
   */
  accept(caller: Caller, serverId: string, wanted: AcceptedChanges): Promise<Acceptance>;
}

export interface ToolChangeReviewDeps {
  readonly catalog: Catalog;
  readonly connections: Pick<Connections, "get">;
  readonly store: Pick<ConnectionStore, "find">;
  readonly tools: ConnectionTools;
  readonly currentTools: Pick<CurrentTools, "accept">;
  /** Called after every acceptance, before the response. */
  readonly onChange: (event: ConnectionEvent) => void;
}

const MAX_PAST = 50;
/** How often an acceptance is applied again after a concurrent change. */
const MAX_TRIES = 5;

export function createToolChangeReview(deps: ToolChangeReviewDeps): ToolChangeReview {
  async function pastOf({ serverType, configuration }: Connection, tool: string | undefined): Promise<ToolChange[]> {
    const past = (await deps.catalog.get(serverType)?.toolChanges?.(configuration, MAX_PAST)) ?? [];
    const isAbout = ({ added, removed, changed }: ToolChange): boolean =>
      tool === undefined || [added, removed, changed].some((names) => names.includes(tool));
    return past.filter(isAbout);
  }

  return {
    async list(principal, serverId, query) {
      checkPage(query);
      const { status, tool, limit = DEFAULT_PAGE, offset = 0 } = query;
      if (status !== undefined && status !== "pending" && status !== "past")
        throw invalid("status", "status must be pending or past.");
      const part = checkPart(query.part);
      const connection = await deps.connections.get(principal, serverId);
      const all = pendingChangesOf(await deps.tools.of(connection));
      const meant = all.filter(
        (change) =>
          status !== "past" &&
          (tool === undefined || change.name === tool) &&
          (part === undefined || change.changed.includes(part)),
      );
      return {
        past: status === "pending" ? [] : await pastOf(connection, tool),
        pending: meant.slice(offset, offset + limit),
        pendingCount: meant.length,
        hasMore: offset + limit < meant.length,
        digest: digestOfChanges(all),
      };
    },

    async accept(principal, serverId, wanted) {
      if (wanted.changes.length > 0 === (wanted.digest !== undefined))
        throw invalid("changes", "Supply either changes, each with its tool and digest, or the digest of all of them.");
      const incomplete = wanted.changes.findIndex(({ tool, digest }) => tool === "" || digest === "");
      if (incomplete >= 0)
        throw invalid(`changes[${incomplete}]`, `changes[${incomplete}] must have a tool and its digest.`);
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const seen = await deps.connections.get(principal, serverId);
        const pending = pendingChangesOf(await deps.tools.of(seen));
        const accepted = await chosen(wanted, pending, seen);
        const remaining = pending.length - accepted.length;
        if (accepted.length === 0) return { accepted: [], remaining };
        // `deps.tools.of` may have accepted new tools.
        const current = await deps.store.find(seen.accountId, seen.id);
        if (current?.keyVersion !== seen.keyVersion || current.acceptToolChanges === "automatic") continue;
        const definitions = accepted.map(({ proposed }) => proposed);
        if ((await deps.currentTools.accept(current, definitions, remaining, toActor(principal))) === undefined)
          continue;
        deps.onChange({ accountId: seen.accountId, connectionId: seen.id, event: "updated" });
        return { accepted: accepted.map(({ name }) => name), remaining };
      }
      throw new DomainError("conflict", "The connection is being changed by others at the same time; try again.");
    },
  };

  async function chosen(
    { changes, digest }: AcceptedChanges,
    pending: readonly PendingToolChange[],
    connection: Connection,
  ): Promise<readonly PendingToolChange[]> {
    if (digest !== undefined) {
      if (digest !== digestOfChanges(pending)) throw stale("The digest does not match the pending changes.");
      return pending;
    }
    const byName = new Map(pending.map((change) => [change.name, change]));
    const current = new Map((await deps.tools.of(connection)).map(({ definition }) => [definition.name, definition]));
    const accepted = new Map<string, PendingToolChange>();
    for (const { tool, digest: seen } of changes) {
      const change = byName.get(tool);
      if (change?.digest === seen) accepted.set(tool, change);
      // Accepted before, perhaps by an earlier attempt of this request.
      else if (current.get(tool)?.digest !== seen)
        throw stale(`${JSON.stringify(tool.slice(0, 64))} has no pending change with this digest.`);
    }
    return [...accepted.values()];
  }
}

function checkPart(word: string | undefined): DefinitionPart | undefined {
  if (word === undefined) return undefined;
  const part = DEFINITION_PARTS.find((each) => each === word);
  if (part === undefined) throw invalid("part", `part must be one of ${DEFINITION_PARTS.join(", ")}.`);
  return part;
}

function stale(what: string): DomainError {
  return new DomainError("stale", `${what} List the changes again and accept what you see.`);
}
