import { randomBytes } from "node:crypto";
import { createProtocolClient } from "../support/clients.ts";
import type { TestAccount, TestAccounts, TestOrganization } from "../support/accounts.ts";
import { EVERYDAY_SCOPES } from "../support/accounts.ts";
import type { Service } from "../support/service.ts";
import type { Upstream } from "../support/upstream.ts";
import { at } from "../cases/match.ts";
import type { CallerName, ObjectName } from "./access-table.ts";

/** An organization with a person for every role, a client, a connection and a stored call. */
export interface Subjects {
  readonly organization: TestOrganization;
  readonly connection: string;
  /** A stored call of the organization's client, made on first use. */
  call(): Promise<string>;
  readonly tokens: Readonly<Record<CallerName, string>>;
  /** The id of the member that an operation names. */
  memberFor(caller: CallerName, object: ObjectName): string;
  /** A new object of the kind, held as the table says. */
  make(kind: ObjectKind, caller: CallerName, object: ObjectName): Promise<string>;
}

type ObjectKind = "client" | "token" | "grant" | "session" | "webhook" | "delivery";

export interface SubjectsDeps {
  readonly accounts: TestAccounts;
  readonly service: Service;
  readonly upstream: Upstream;
}

/** Creates another organization with everything in it. */
export async function createSubjects({ accounts, service, upstream }: SubjectsDeps): Promise<Subjects> {
  const rest = createProtocolClient("rest", service.url);
  const [owner, admin, member, other, coOwner, outsider] = await Promise.all(
    Array.from({ length: 6 }, () => accounts.create()),
  );
  if (!owner || !admin || !member || !other || !coOwner || !outsider) throw new Error("an account is missing");
  const organization = await accounts.createOrganization({ owner, admin, member });
  await organization.add(other, "member");
  await organization.add(coOwner, "owner");

  const clientToken = async (): Promise<string> => {
    const { clientId, clientSecret } = await organization.client(EVERYDAY_SCOPES);
    const response = await fetch(`${service.url}/oauth2/token`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}` },
      body: new URLSearchParams({ grant_type: "client_credentials", scope: EVERYDAY_SCOPES }),
    });
    return String(at((await response.json()) as never, "access_token"));
  };
  const tokenOf = async (account: TestAccount): Promise<string> => (await organization.token(account)).token;
  const tokens = {
    owner: await tokenOf(owner),
    admin: await tokenOf(admin),
    member: await tokenOf(member),
    client: await clientToken(),
    person: await owner.token(),
    outsider: await outsider.token(),
  };
  const otherToken = await tokenOf(other);
  const holders: Readonly<Record<CallerName, TestAccount>> = {
    owner,
    admin,
    member,
    client: owner,
    person: owner,
    outsider: owner,
  };

  const ask = async (operation: string, token: string, input = {}, headers = {}) => {
    const outcome = await rest.call(operation, { token, input, headers });
    if (outcome.message !== "") throw new Error(`${operation}: ${outcome.message}`);
    return outcome.body;
  };
  const created = await ask("CreateConnection", tokens.client, {
    server_type: "mcp",
    configuration: { url: upstream.url },
  });
  const connection = String(at(created, "server_id"));
  await ask("UpdateConnection", tokens.client, { server_id: connection, keep_contents_days: 1 });

  async function makeSession(token: string): Promise<string> {
    return String(at(await ask("Initialize", token), "sessionId"));
  }

  async function makeGrant(memberId: string): Promise<string> {
    const id = `grant_${randomBytes(16).toString("base64url")}`;
    await accounts.query(
      `insert into oauth_grant (account_id, member_id, id, client_id, client_name, redirect_uri, scopes, resource)
       values ($1, $2, $3, 'client_of_a_test', 'A client', 'https://example.com/', '{mcp.read}', $4)`,
      [organization.id, memberId, id, service.url],
    );
    return id;
  }

  let storedCall: Promise<string> | undefined;
  async function makeWebhook(): Promise<string> {
    // An account may have 20 of them.
    await accounts.query("delete from webhook where account_id = $1", [organization.id]);
    const input = { url: "https://hooks.invalid/", event_types: ["connection.deleted"] };
    return String(at(await ask("CreateWebhook", tokens.client, input), "data.id"));
  }

  async function makeDelivery(): Promise<string> {
    const id = `delivery_${randomBytes(16).toString("base64url")}`;
    await accounts.query(
      `insert into webhook_delivery (account_id, id, webhook_id, event_type, subject, payload)
       values ($1, $2, $3, 'connection.deleted', 'connection/1', '{}')`,
      [organization.id, id, await makeWebhook()],
    );
    return id;
  }

  return {
    organization,
    connection,
    tokens,
    call: () => (storedCall ??= makeCall()),
    memberFor: (caller, object) =>
      object === "own" ? (caller === "client" ? coOwner.id : holders[caller].id) : other.id,
    async make(kind, caller, object) {
      const isOwnOfClient = object === "organization" || (object === "own" && caller === "client");
      const holder = object === "other" ? other : holders[caller];
      switch (kind) {
        case "session":
          return makeSession(object === "own" ? tokens[caller] : otherToken);
        case "webhook":
          return makeWebhook();
        case "delivery":
          return makeDelivery();
        case "grant":
          return makeGrant(holder.id);
        case "token":
          return (await organization.token(holder)).id;
        case "client": {
          if (isOwnOfClient) return (await organization.client(EVERYDAY_SCOPES)).clientId;
          const token = (await organization.token(holder)).token;
          return String(at(await ask("CreateOAuthClient", token, { scopes: ["mgmt.read"] }), "data.client_id"));
        }
      }
    },
  };

  /** A call of the organization's client whose payloads are stored. */
  async function makeCall(): Promise<string> {
    const session = await makeSession(tokens.client);
    await ask("CallTool", tokens.client, { name: "look_up" }, { "x-session-id": session });
    for (;;) {
      const listed = await ask("ListCalls", tokens.client, { server_id: connection });
      const id = at(listed, "data.0.id");
      if (id !== undefined && at(listed, "data.0.contents_kept") === true) return String(id);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
