import { Migration } from "@mikro-orm/migrations";

/**
 * Creates webhooks and their deliveries. A webhook's row is also its place in the queue of deliveries, so that an address
 * that fails is tried once per pause and not once per waiting event.
 */
export class CreateWebhook extends Migration {
  override up(): void {
    this.addSql(`
      create table webhook (
        account_id text not null,
        id text not null,
        name text not null default '',
        url text not null,
        event_types text[] not null,
        enabled boolean not null default true,
        disabled_reason text,
        -- The current secret, and the previous one while it is valid.
        sealed_secrets bytea not null,
        secret_rotated_at timestamptz,
        previous_secret_until timestamptz,
        created_at timestamptz not null default now(),
        -- The failed attempts since the last successful one, and until when no further one is made.
        failures integer not null default 0,
        failing_since timestamptz,
        paused_until timestamptz,
        -- When its next delivery is due, and until when a replica has claimed it.
        due_at timestamptz,
        claimed_until timestamptz,
        primary key (account_id, id),
        constraint webhook_account_id_fkey foreign key (account_id) references account (id) on delete cascade
      )
    `);
    this.addSql("create index webhook_due on webhook (due_at) where due_at is not null");
    this.addSql("create index webhook_sealed_version on webhook (substring(sealed_secrets from 2 for 4))");
    this.addSql(`
      create table webhook_delivery (
        account_id text not null,
        id text not null,
        webhook_id text not null,
        -- The order of events.
        sequence bigint generated always as identity,
        event_type text not null,
        subject text not null,
        payload text not null,
        status text not null default 'pending' constraint webhook_delivery_status_check check (status in ('pending', 'delivered', 'failed')),
        attempts integer not null default 0,
        created_at timestamptz not null default now(),
        queued_at timestamptz not null default now(),
        next_attempt_at timestamptz not null default now(),
        last_attempt_at timestamptz,
        response_status integer,
        error text,
        delivered_at timestamptz,
        primary key (account_id, id),
        constraint webhook_delivery_account_id_webhook_id_fkey foreign key (account_id, webhook_id)
          references webhook (account_id, id) on delete cascade
      )
    `);
    this.addSql("create index webhook_delivery_account on webhook_delivery (account_id, sequence)");
    this.addSql("create index webhook_delivery_webhook on webhook_delivery (account_id, webhook_id, sequence)");
    this.addSql(`
      create index webhook_delivery_waiting on webhook_delivery (account_id, webhook_id, sequence)
        where status = 'pending'
    `);
    this.addSql(`
      create index webhook_delivery_subject on webhook_delivery (account_id, webhook_id, subject, sequence)
        where status = 'pending'
    `);
    this.addSql(`
      create index webhook_delivery_finished on webhook_delivery (account_id, webhook_id, sequence)
        where status <> 'pending'
    `);
    this.addSql("create index webhook_delivery_created on webhook_delivery (created_at)");
  }
}
