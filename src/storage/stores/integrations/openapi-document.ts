import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import type { DocumentSource, DocumentStore } from "../../../integrations/openapi-document/document-store.ts";
import { parsePlan, printPlan } from "../../../integrations/openapi/model/operation-text.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { OpenapiChangeEntity } from "../../entities/integrations/openapi-change.ts";
import { OpenapiDocumentEntity } from "../../entities/integrations/openapi-document.ts";
import { OpenapiSourceEntity } from "../../entities/integrations/openapi-source.ts";
import { ToolDefinitionEntity } from "../../entities/tools/tool-definition.ts";
import { inTransaction, now, type Orm, tablesOf, withEntities } from "../../orm.ts";
import { announceEvent } from "../connections/connection-event.ts";
import { keepDefinitions, parseDefinition } from "../tools/tool-definition.ts";

const NOW = sql<Date>`now()`;
const LONG_UNUSED = sql<Date>`now() - interval '90 days'`;

interface SourceRow {
  readonly url: string;
  readonly digest: string;
  readonly etag?: string | null | undefined;
}

const toSource = ({ url, digest, etag }: SourceRow): DocumentSource => ({ url, digest, etag: etag ?? undefined });

function toRow({ url, digest, etag }: DocumentSource, dueInSeconds: number) {
  return { url, digest, etag: etag ?? null, due_at: sql<Date>`now() + make_interval(secs => ${dueInSeconds})` };
}

async function writeSource(em: EntityManager, source: DocumentSource, dueInSeconds: number): Promise<void> {
  const { url, ...answer } = toRow(source, dueInSeconds);
  await tablesOf(em)
    .insertInto("openapi_source")
    .values({ url, ...answer })
    .onConflict((conflict) => conflict.column("url").doUpdateSet(answer))
    .execute();
}

/** OpenAPI documents in PostgreSQL, one row each, shared by all connections that use the document. */
export function createDocumentStore(orm: Orm): DocumentStore {
  return {
    async find(digest) {
      const row = await withEntities(orm, (em) => em.findOne(OpenapiDocumentEntity, { digest }));
      if (row === null) return undefined;
      return { text: (await promisify(gunzip)(row.content)).toString("utf8"), toolNames: row.toolNames };
    },

    async save({ digest, text, toolNames }) {
      const row = { digest, content: await promisify(gzip)(text), tool_names: [...toolNames] };
      await withEntities(orm, (em) =>
        tablesOf(em)
          .insertInto("openapi_document")
          .values(row)
          .onConflict((conflict) => conflict.column("digest").doUpdateSet({ used_at: NOW }))
          .execute(),
      );
    },

    async isUsedBy(accountId, digest) {
      const isUsing = { accountId, serverType: "openapi", configuration: { spec: `sha256:${digest}` } };
      return (await withEntities(orm, (em) => em.findOne(ConnectionEntity, isUsing, { fields: ["id"] }))) !== null;
    },

    async findSource(url) {
      const row = await withEntities(orm, (em) => em.findOne(OpenapiSourceEntity, { url }));
      return row === null ? undefined : toSource(row);
    },

    async addSource(source, dueInSeconds) {
      const row = await withEntities(orm, (em) =>
        tablesOf(em)
          .insertInto("openapi_source")
          .values(toRow(source, dueInSeconds))
          .onConflict((conflict) => conflict.column("url").doUpdateSet({ used_at: NOW }))
          .returning(["url", "digest", "etag"])
          .executeTakeFirst(),
      );
      return row === undefined ? source : toSource(row);
    },

    async findOperation(digest) {
      const isPlanned = { digest, plan: { $ne: null } };
      const row = await withEntities(orm, (em) => em.findOne(ToolDefinitionEntity, isPlanned));
      return row?.plan ? parsePlan(parseDefinition(row.definition), row.plan) : undefined;
    },

    saveSource: (source, dueInSeconds, change) =>
      inTransaction(orm, async (em) => {
        await writeSource(em, source, dueInSeconds);
        if (change === undefined) return;
        const { url } = source;
        const { added, removed, changed, superseded } = change;
        em.create(OpenapiChangeEntity, { url, added: [...added], removed: [...removed], changed: [...changed] });
        await keepDefinitions(
          em,
          superseded.map((operation) => ({ definition: operation.tool, plan: printPlan(operation) })),
        );
        // Notifies all replicas, which then list the tools of these connections again.
        const isOfSource = { serverType: "openapi", configuration: { spec_url: url } };
        for (const { accountId, id } of await em.find(ConnectionEntity, isOfSource, { fields: ["id"] }))
          await announceEvent(em, { accountId, connectionId: id, event: "tools" });
      }),

    async claimDue(limit) {
      const rows = await withEntities(orm, (em) =>
        tablesOf(em)
          .updateTable("openapi_source")
          .set({ due_at: sql<Date>`now() + interval '10 minutes'` })
          .where("url", "=", ({ selectFrom }) => {
            // Only documents used within a month; others are fetched again on their next use.
            const due = selectFrom("openapi_source")
              .select("url")
              .where("due_at", "<=", NOW)
              .where("used_at", ">", sql<Date>`now() - interval '30 days'`);
            const claimed = due.orderBy("due_at").limit(limit).forUpdate().skipLocked();
            return sql<string>`any (array(${claimed}))`;
          })
          .returning(["url", "digest", "etag"])
          .execute(),
      );
      return rows.map(toSource);
    },

    async listChanges(url, limit) {
      const options = { orderBy: { id: "desc" }, limit } as const;
      const rows = await withEntities(orm, (em) => em.find(OpenapiChangeEntity, { url }, options));
      return rows.map(({ changedAt, added, removed, changed }) => ({ changedAt, added, removed, changed }));
    },

    async touch(digest, url) {
      await withEntities(orm, async (em) => {
        if (url !== undefined) await em.nativeUpdate(OpenapiSourceEntity, { url }, { usedAt: now() });
        await em.nativeUpdate(OpenapiDocumentEntity, { digest }, { usedAt: now() });
      });
    },

    async purge() {
      await withEntities(orm, async (em) => {
        const tables = tablesOf(em);
        await tables.deleteFrom("openapi_change").where("changed_at", "<", LONG_UNUSED).execute();
        // Keeps the document that a connection refers to and its later changes, since accepted definitions refer to
        // them.
        await tables
          .deleteFrom("openapi_source as source")
          .where("used_at", "<", LONG_UNUSED)
          .where(({ not, exists, selectFrom }) => {
            const naming = selectFrom("connection").select("id").where("server_type", "=", "openapi");
            return not(exists(naming.where(sql`configuration->>'spec_url'`, "=", sql.ref("source.url"))));
          })
          .execute();
        await tables
          .deleteFrom("openapi_document as document")
          .where("used_at", "<", sql<Date>`now() - interval '1 day'`)
          .where(({ not, exists, selectFrom }) => {
            const sources = selectFrom("openapi_source").select("url");
            return not(exists(sources.whereRef("openapi_source.digest", "=", "document.digest")));
          })
          .where(({ not, exists, selectFrom }) => {
            const using = selectFrom("connection").select("id").where("server_type", "=", "openapi");
            return not(
              exists(using.where(sql`configuration->>'spec'`, "=", sql`'sha256:' || ${sql.ref("document.digest")}`)),
            );
          })
          .execute();
      });
    },
  };
}
