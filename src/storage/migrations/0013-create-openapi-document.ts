import { Migration } from "@mikro-orm/migrations";

/** Creates the OpenAPI documents of connections, their URLs and their changes. */
export class CreateOpenapiDocument extends Migration {
  override up(): void {
    this.addSql(`
      create table openapi_document (
        -- SHA-256 of the text, in hexadecimal.
        digest text primary key,
        -- The text in gzip.
        content bytea not null,
        tool_names text[] not null,
        used_at timestamptz not null default now()
      )
    `);
    this.addSql("alter table openapi_document alter column content set storage external");
    this.addSql("create index openapi_document_used_at_idx on openapi_document (used_at)");
    this.addSql(`
      create table openapi_source (
        url text primary key,
        digest text not null references openapi_document (digest),
        etag text,
        -- When it is fetched again.
        due_at timestamptz not null,
        used_at timestamptz not null default now()
      )
    `);
    this.addSql("create index openapi_source_due_at_idx on openapi_source (due_at)");
    this.addSql("create index openapi_source_digest_idx on openapi_source (digest)");
    this.addSql(`
      create table openapi_change (
        id bigint generated always as identity primary key,
        url text not null references openapi_source (url) on delete cascade,
        changed_at timestamptz not null default now(),
        added text[] not null,
        removed text[] not null
      )
    `);
    this.addSql("create index openapi_change_url_id_idx on openapi_change (url, id)");
  }
}
