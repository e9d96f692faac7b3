import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import { LRUCache } from "lru-cache";
import { atMost } from "../../../at-most.ts";
import type { Connection } from "../../../connections/connection.ts";
import type {
  AcceptedSet,
  AcceptedSetUpdate,
  DefinitionStore,
} from "../../../connections/definitions/definition-store.ts";
import { ToolDefinitionEntity } from "../../entities/tools/tool-definition.ts";
import { ToolPinSetEntity } from "../../entities/tools/tool-pin-set.ts";
import { inTransaction, type Orm, tablesOf, withEntities } from "../../orm.ts";
import { storeChangedDefinitions, storeAcceptedDefinitions } from "../../statements/connection.ts";
import { toConnection } from "../connections/connection-row.ts";
import { connectionEvent } from "../connections/connection-write.ts";
import { recordEvent } from "../identity/audit-event.ts";
import { runnerOf } from "../run-statement.ts";
import { recordChange } from "../webhooks/record-change.ts";
import type { WebhookOutbox } from "../webhooks/webhook-outbox.ts";
import { keepDefinitions, parseDefinition } from "./tool-definition.ts";

/**
 * How long this process remembers that it stored a definition, in milliseconds: much less than `PURGE` keeps unused
 * definitions.
 */
const WRITTEN_MS = 3_600_000;
const MAX_WRITTEN = 20_000;

/**
 * Accepted definitions in PostgreSQL. A connection needs no row: it refers to a set that all connections with equal
 * definitions share. Without `webhooks` no events are stored.
 */
export function createDefinitionStore(orm: Orm, webhooks?: WebhookOutbox): DefinitionStore {
  const written = new LRUCache<string, true>({ ...atMost(MAX_WRITTEN), ttl: WRITTEN_MS });

  async function hold(
    em: EntityManager,
    connection: Connection,
    { digest, changedTools, notifiesWatchers, acceptance }: AcceptedSetUpdate,
  ) {
    const { accountId, id, acceptedDefinitions, keyVersion } = connection;
    const held = { accountId, id, keyVersion, digest, changedTools, before: acceptedDefinitions };
    // The first acceptance of definitions notifies replicas but not watchers.
    const update = notifiesWatchers || acceptance !== undefined ? storeChangedDefinitions : storeAcceptedDefinitions;
    const [row] = (await update(runnerOf(em), held)).rows;
    if (row === undefined) return undefined;
    if (acceptance !== undefined) {
      const event = connectionEvent(connection, "connection.accept_tool_changes", acceptance.actor);
      recordEvent(em, { ...event, changed: acceptance.toolNames });
    }
    return toConnection(accountId, row);
  }

  async function keepSet(em: EntityManager, { accepted, digest }: AcceptedSet): Promise<void> {
    await tablesOf(em)
      .insertInto("tool_pin_set")
      .values({ digest, names: [...accepted.keys()], definitions: [...accepted.values()] })
      .onConflict((conflict) => conflict.column("digest").doUpdateSet({ used_at: sql`now()` }))
      .execute();
  }

  return {
    async find(digest) {
      const set = await withEntities(orm, (em) => em.findOne(ToolPinSetEntity, { digest }));
      return set === null ? undefined : new Map(set.names.map((name, index) => [name, set.definitions[index] ?? ""]));
    },

    async findDefinitions(digests) {
      const isWanted = { digest: { $in: [...digests] } };
      const rows = await withEntities(orm, (em) => em.find(ToolDefinitionEntity, isWanted));
      return new Map(rows.map(({ digest, definition }) => [digest, parseDefinition(definition)]));
    },

    async keep(connection, kept) {
      const definitions = kept.definitions.filter(({ digest = "" }) => !written.has(digest));
      const saved = await inTransaction(orm, async (em) => {
        await keepDefinitions(
          em,
          definitions.map((definition) => ({ definition })),
        );
        if (definitions.length > 0 || !written.has(kept.digest)) await keepSet(em, kept);
        return recordChange(em, webhooks, connection, () => hold(em, connection, kept));
      });
      for (const { digest = "" } of [...definitions, kept]) written.set(digest, true);
      return saved;
    },
  };
}
