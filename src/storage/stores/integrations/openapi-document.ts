import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type pg from "pg";
import type { DocumentSource, DocumentStore } from "../../../integrations/openapi-document/document-store.ts";
import { parsePlan, printPlan } from "../../../integrations/openapi/model/operation-text.ts";
import { transaction } from "../../transaction.ts";
import { announce } from "../connections/connection-event.ts";
import { runStatement } from "../run-statement.ts";
import { keepDefinitions, parseDefinition } from "../tools/tool-definition.ts";

const FIND = {
  name: "openapi_document_find",
  text: "select content, tool_names from openapi_document where digest = $1",
};
const SAVE = {
  name: "openapi_document_save",
  text: `insert into openapi_document (digest, content, tool_names) values ($1, $2, $3)
    on conflict (digest) do update set used_at = now()`,
};
const USED_BY = {
  name: "openapi_document_used_by",
  text: `select from connection where account_id = $1 and server_type = 'openapi'
    and configuration->>'spec' = 'sha256:' || $2::text limit 1`,
};
const FIND_SOURCE = {
  name: "openapi_source_find",
  text: "select url, digest, etag from openapi_source where url = $1",
};
const SAVE_SOURCE = {
  name: "openapi_source_save",
  text: `insert into openapi_source (url, digest, etag, due_at) values ($1, $2, $3, now() + make_interval(secs => $4))
    on conflict (url) do update set digest = excluded.digest, etag = excluded.etag, due_at = excluded.due_at`,
};
const ADD_SOURCE = {
  name: "openapi_source_add",
  text: `insert into openapi_source (url, digest, etag, due_at) values ($1, $2, $3, now() + make_interval(secs => $4))
    on conflict (url) do update set used_at = now()
    returning url, digest, etag`,
};
const RECORD_CHANGE = {
  name: "openapi_change_record",
  text: "insert into openapi_change (url, added, removed, changed) values ($1, $2, $3, $4)",
};
const FIND_OPERATION = {
  name: "tool_definition_find_plan",
  text: "select definition, plan from tool_definition where digest = $1 and plan is not null",
};
/** Whoever lists tools of these connections, on any replica, looks again. */
const ANNOUNCE = {
  name: "openapi_change_announce",
  text: `select ${announce("tools")} from connection where server_type = 'openapi' and configuration->>'spec_url' = $1`,
};
/** Only what was used within a month: the others are fetched again when somebody comes back to them. */
const CLAIM = {
  name: "openapi_source_claim",
  text: `update openapi_source set due_at = now() + interval '10 minutes' where url = any (array(
      select url from openapi_source where due_at <= now() and used_at > now() - interval '30 days'
      order by due_at limit $1 for update skip locked))
    returning url, digest, etag`,
};
const LIST_CHANGES = {
  name: "openapi_change_list",
  text: "select changed_at, added, removed, changed from openapi_change where url = $1 order by id desc limit $2",
};
const TOUCH = {
  name: "openapi_document_touch",
  text: `with source as (update openapi_source set used_at = now() where url = $2)
    update openapi_document set used_at = now() where digest = $1`,
};
const PURGE_CHANGES = {
  name: "openapi_change_purge",
  text: "delete from openapi_change where changed_at < now() - interval '90 days'",
};
const PURGE_SOURCES = {
  name: "openapi_source_purge",
  // What a connection names stays, with what came after it: its pins refer to that.
  text: `delete from openapi_source as source where used_at < now() - interval '90 days'
    and not exists (select 1 from connection where server_type = 'openapi' and configuration->>'spec_url' = source.url)`,
};
const PURGE_DOCUMENTS = {
  name: "openapi_document_purge",
  text: `delete from openapi_document as document where used_at < now() - interval '1 day'
    and not exists (select 1 from openapi_source where digest = document.digest)
    and not exists (select 1 from connection
      where server_type = 'openapi' and configuration->>'spec' = 'sha256:' || document.digest)`,
};

interface SourceRow {
  url: string;
  digest: string;
  etag: string | null;
}

interface ChangeRow {
  changed_at: Date;
  added: string[];
  removed: string[];
  changed: string[];
}

const toSource = ({ url, digest, etag }: SourceRow): DocumentSource => ({ url, digest, etag: etag ?? undefined });

/** OpenAPI documents in PostgreSQL, one row each however many connections use one. */
export function createDocumentStore(pool: pg.Pool): DocumentStore {
  return {
    async find(digest) {
      const found = await runStatement<{ content: Buffer; tool_names: string[] }>(pool, { ...FIND, values: [digest] });
      const row = found.rows[0];
      if (row === undefined) return undefined;
      return { text: (await promisify(gunzip)(row.content)).toString("utf8"), toolNames: row.tool_names };
    },

    async save({ digest, text, toolNames }) {
      await runStatement(pool, { ...SAVE, values: [digest, await promisify(gzip)(text), toolNames] });
    },

    async isUsedBy(accountId, digest) {
      return (await runStatement(pool, { ...USED_BY, values: [accountId, digest] })).rowCount === 1;
    },

    async findSource(url) {
      const row = (await runStatement<SourceRow>(pool, { ...FIND_SOURCE, values: [url] })).rows[0];
      return row === undefined ? undefined : toSource(row);
    },

    async addSource(source, dueInSeconds) {
      const { url, digest, etag } = source;
      const statement = { ...ADD_SOURCE, values: [url, digest, etag ?? null, dueInSeconds] };
      const row = (await runStatement<SourceRow>(pool, statement)).rows[0];
      return row === undefined ? source : toSource(row);
    },

    async findOperation(digest) {
      const statement = { ...FIND_OPERATION, values: [digest] };
      const row = (await runStatement<{ definition: string; plan: string }>(pool, statement)).rows[0];
      return row && parsePlan(parseDefinition(row.definition), row.plan);
    },

    async saveSource({ url, digest, etag }, dueInSeconds, change) {
      const statement = { ...SAVE_SOURCE, values: [url, digest, etag ?? null, dueInSeconds] };
      if (change === undefined) {
        await runStatement(pool, statement);
        return;
      }
      await transaction(pool, async (client) => {
        await runStatement(client, statement);
        const { added, removed, changed, superseded } = change;
        await runStatement(client, { ...RECORD_CHANGE, values: [url, added, removed, changed] });
        await keepDefinitions(
          client,
          superseded.map((operation) => ({ definition: operation.tool, plan: printPlan(operation) })),
        );
        await runStatement(client, { ...ANNOUNCE, values: [url] });
      });
    },

    async claimDue(limit) {
      return (await runStatement<SourceRow>(pool, { ...CLAIM, values: [limit] })).rows.map(toSource);
    },

    async listChanges(url, limit) {
      const { rows } = await runStatement<ChangeRow>(pool, {
        ...LIST_CHANGES,
        values: [url, limit],
      });
      return rows.map(({ changed_at: changedAt, added, removed, changed }) => ({ changedAt, added, removed, changed }));
    },

    async touch(digest, url) {
      await runStatement(pool, { ...TOUCH, values: [digest, url ?? null] });
    },

    async purge() {
      for (const statement of [PURGE_CHANGES, PURGE_SOURCES, PURGE_DOCUMENTS])
        await runStatement(pool, { ...statement, values: [] });
    },
  };
}
