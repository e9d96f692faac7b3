import type { PersonalAccessToken } from "../../identity/tokens/personal-access-token.ts";
import type { JsonObject } from "../../json.ts";
import { type Command, withServices } from "./command.ts";
import { findMember } from "./member-commands.ts";

/** PostgreSQL's largest `integer`. */
const MAX_SERVER_ID = 2_147_483_647;

/** A hundred years. A longer lifetime is the same as no expiry. */
const MAX_DAYS = 36_500;

function toJson(token: PersonalAccessToken): JsonObject {
  return {
    id: token.id,
    ...(token.memberId !== undefined && { member_id: token.memberId }),
    client_id: token.clientId,
    name: token.name,
    scopes: [...token.scopes],
    mcp_server_id: token.connectionId ?? null,
    created_at: token.createdAt.toISOString(),
    expires_at: token.expiresAt?.toISOString() ?? null,
    revoked_at: token.revokedAt?.toISOString() ?? null,
  };
}

function toLine(token: PersonalAccessToken): string {
  const end = token.revokedAt === undefined ? `ends ${token.expiresAt?.toISOString() ?? "never"}` : "revoked";
  const server = token.connectionId === undefined ? "" : `  server ${token.connectionId}`;
  return `${token.id}  ${token.scopes.join(" ")}${server}  made ${token.createdAt.toISOString()}  ${end}  ${token.name}`.trimEnd();
}

export const personalAccessTokenCommands: readonly Command[] = [
  {
    name: "pat create",
    synopsis:
      '--account EMAIL|ID --scope "SCOPE ..." [--member EMAIL|ID] [--server-id N] [--name NAME] [--expires-in-days N]',
    summary: "creates a personal access token and prints it once",
    options: {
      account: { type: "string" },
      scope: { type: "string" },
      member: { type: "string" },
      "server-id": { type: "string" },
      name: { type: "string" },
      "expires-in-days": { type: "string" },
    },
    run: (given, deps) => {
      const wanted = given.required("account");
      const request = {
        scope: given.required("scope"),
        connectionId: given.count("server-id", MAX_SERVER_ID),
        name: given.text("name") ?? "",
        expiresInDays: given.count("expires-in-days", MAX_DAYS),
      };
      const wantedMember = given.text("member");
      return withServices(deps, async ({ accounts, memberStore, personalAccessTokens }) => {
        const account = await accounts.find(wanted);
        const member = wantedMember === undefined ? undefined : await accounts.find(wantedMember);
        const memberId = member && (await findMember(memberStore, account, member)).id;
        const { id, token } = await personalAccessTokens.create(account, { ...request, memberId });
        return { json: { id, token }, text: `Token ${id}, shown only this once:\n${token}` };
      });
    },
  },
  {
    name: "pat list",
    synopsis: "--account EMAIL|ID",
    summary: "lists the personal access tokens of an account",
    options: { account: { type: "string" } },
    takesValue: true,
    run: (given, deps) => {
      const wanted = given.required("account");
      return withServices(deps, async ({ accounts, personalAccessTokens }) => {
        const tokens = await personalAccessTokens.list(await accounts.find(wanted));
        const text = tokens.length === 0 ? "There is no personal access token." : tokens.map(toLine).join("\n");
        return { json: { tokens: tokens.map(toJson) }, text };
      });
    },
  },
  {
    name: "pat revoke",
    synopsis: "TOKEN_ID",
    summary: "revokes a personal access token",
    options: { id: { type: "string" } },
    takesValue: true,
    run: (given, deps) => {
      const id = given.required("id");
      return withServices(deps, async ({ personalAccessTokens }) => {
        await personalAccessTokens.revoke(id);
        return { json: { id }, text: `Personal access token ${id} is revoked.` };
      });
    },
  },
];
