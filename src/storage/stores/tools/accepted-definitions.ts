import { LRUCache } from "lru-cache";
import type pg from "pg";
import { atMost } from "../../../at-most.ts";
import type { Connection } from "../../../connections/connection.ts";
import type {
  AcceptedSet,
  AcceptedSetUpdate,
  DefinitionStore,
} from "../../../connections/definitions/definition-store.ts";
import { transaction } from "../../transaction.ts";
import { actorParameter, auditing } from "../identity/audit-event.ts";
import { announce } from "../connections/connection-event.ts";
import { CONNECTION_COLUMNS, type ConnectionRow, toConnection } from "../connections/connection-row.ts";
import { NEXT_UPDATED_AT } from "../connections/connection-write.ts";
import { runStatement } from "../run-statement.ts";
import { keepDefinitions, parseDefinition } from "./tool-definition.ts";

/** How long it is remembered that something was written here, in milliseconds: far less than `PURGE` leaves it alone. */
const WRITTEN_MS = 3_600_000;
const MAX_WRITTEN = 20_000;

const FIND = { name: "tool_pin_set_find", text: "select names, definitions from tool_pin_set where digest = $1" };
const FIND_DEFINITIONS = {
  name: "tool_definition_find",
  text: "select digest, definition from tool_definition where digest = any ($1)",
};
const KEEP_SET = {
  name: "tool_pin_set_keep",
  text: `insert into tool_pin_set (digest, names, definitions) values ($1, $2, $3)
    on conflict (digest) do update set used_at = now()`,
};

const ACCEPTED = auditing(
  {
    action: "connection.accept_tool_changes",
    objectType: "connection",
    objectName: "changed.name",
    changed: "$8::text[]",
  },
  7,
);

/** What those who watch see is news; that something is pinned for the first time is told to replicas alone. */
const hold = (isNews: boolean, isAccepted = false): string => `with changed as (
    update connection set tool_pins = $3, changed_tools = $4${isNews ? `, updated_at = ${NEXT_UPDATED_AT}` : ""}
    where account_id = $1 and id = $2 and tool_pins is not distinct from $5 and key_version = $6
      and accept_tool_changes = 'manual'
    returning ${CONNECTION_COLUMNS})${isAccepted ? `, ${ACCEPTED}` : ""}
  select changed.*, ${announce(isNews ? "updated" : "pins")} from changed`;
const HOLD = { name: "connection_hold_pins", text: hold(false) };
const HOLD_ACCEPTED = { name: "connection_hold_accepted_pins", text: hold(true, true) };
const HOLD_NEWS = { name: "connection_hold_changed_pins", text: hold(true) };

/** Pins in PostgreSQL. A connection costs no row: its own names the pins that it shares with all that hold the same. */
export function createPinStore(pool: pg.Pool): DefinitionStore {
  const written = new LRUCache<string, true>({ ...atMost(MAX_WRITTEN), ttl: WRITTEN_MS });

  async function update(runner: pg.Pool | pg.PoolClient, connection: Connection, kept: AcceptedSetUpdate) {
    const { accountId, id, acceptedDefinitions, keyVersion } = connection;
    const values = [accountId, id, kept.digest, kept.changedTools, acceptedDefinitions ?? null, keyVersion];
    const { acceptance } = kept;
    const statement =
      acceptance === undefined
        ? { ...(kept.notifiesWatchers ? HOLD_NEWS : HOLD), values }
        : { ...HOLD_ACCEPTED, values: [...values, actorParameter(acceptance.actor), acceptance.toolNames] };
    const row = (await runStatement<ConnectionRow>(runner, statement)).rows[0];
    return row === undefined ? undefined : toConnection(accountId, row);
  }

  async function keepSet(client: pg.PoolClient, { accepted, digest }: AcceptedSet): Promise<void> {
    await runStatement(client, { ...KEEP_SET, values: [digest, [...accepted.keys()], [...accepted.values()]] });
  }

  return {
    async find(digest) {
      const { rows } = await runStatement<{ names: string[]; definitions: string[] }>(pool, {
        ...FIND,
        values: [digest],
      });
      const row = rows[0];
      return row && new Map(row.names.map((name, index) => [name, row.definitions[index] ?? ""]));
    },

    async findDefinitions(digests) {
      const { rows } = await runStatement<{ digest: string; definition: string }>(pool, {
        ...FIND_DEFINITIONS,
        values: [digests],
      });
      return new Map(rows.map(({ digest, definition }) => [digest, parseDefinition(definition)]));
    },

    async keep(connection, kept) {
      const definitions = kept.definitions.filter(({ digest = "" }) => !written.has(digest));
      if (definitions.length === 0 && written.has(kept.digest)) return update(pool, connection, kept);
      const saved = await transaction(pool, async (client) => {
        await keepDefinitions(
          client,
          definitions.map((definition) => ({ definition })),
        );
        await keepSet(client, kept);
        return update(client, connection, kept);
      });
      for (const { digest = "" } of [...definitions, kept]) written.set(digest, true);
      return saved;
    },
  };
}
