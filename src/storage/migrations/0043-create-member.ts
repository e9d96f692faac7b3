import { Migration } from "@mikro-orm/migrations";

/**
 * Creates the members of organizations, which are accounts of their own kind. What a member holds in an organization
 * names the member; the column is null in a person's account.
 */
export class CreateMember extends Migration {
  override up(): void {
    this.addSql(`
      alter table account
        add column kind text not null default 'person',
        add column name text not null default ''
    `);
    this.addSql(`
      alter table account add constraint account_kind_check check (kind in ('person', 'organization')) not valid
    `);
    this.addSql(`
      create table member (
        -- The organization.
        account_id text not null constraint member_account_id_fkey references account (id)
          on update cascade on delete cascade,
        person_id text not null constraint member_person_id_fkey references account (id)
          on update cascade on delete cascade,
        role text not null constraint member_role_check check (role in ('owner', 'admin', 'member')),
        -- Tokens that were issued before belong to an earlier membership.
        created_at timestamptz not null default now(),
        primary key (account_id, person_id)
      )
    `);
    this.addSql("create index member_person on member (person_id)");
    this.addSql("alter table session add column member_id text");
    this.addSql("alter table mcp_task add column member_id text");
    this.addSql("alter table oauth_client add column member_id text");
    this.addSql("alter table oauth_grant add column member_id text");
    this.addSql("alter table personal_access_token add column member_id text");
  }
}
