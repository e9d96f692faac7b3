import { expect } from "vitest";
import { isJsonObject, type JsonValue } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase } from "../support/database.ts";
import { type RawAnswer, type RawRequest, sendRawRequest } from "../support/raw-request.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream } from "../support/upstream.ts";
import { until } from "../support/until.ts";

/** A service with one verified connection and an open session, as the target of invalid requests. */
export interface Target {
  readonly service: Service;
  readonly accounts: TestAccounts;
  readonly account: TestAccount;
  readonly token: string;
  readonly id: string;
  readonly session: string;
  /** Sends a request with the owner's token, unless it has its own Authorization header. */
  send(request: RawRequest): Promise<RawAnswer>;
  /** Sends a request and checks the status, the `{detail}`, and that no data changed. */
  refuses(request: RawRequest, status: number, detail?: RegExp): Promise<void>;
  /** Does the same for Connect, whose errors are `{code, message}`. */
  refusesConnect(request: RawRequest, status: number, code: string): Promise<void>;
  close(): Promise<void>;
}

/** A low limit of connections per account, so that a test can reach it. */
export const MAX_CONNECTIONS = 3;

export async function startTarget(): Promise<Target> {
  const database = await createTestDatabase();
  const upstream = await startUpstream();
  const service = await startService({
    databaseUrl: database.url,
    env: { OUTBOUND_ALLOW: upstream.host, MAX_CONNECTIONS_PER_ACCOUNT: String(MAX_CONNECTIONS) },
  });
  const accounts = await openAccounts(service.env);
  const account = await accounts.create();
  const token = await account.token();
  const client = createProtocolClient("rest", service.url);
  const created = await client.call("CreateConnection", {
    token,
    input: { server_type: "mcp", name: "Handbook", configuration: { url: upstream.url } },
  });
  const { server_id: id } = created.body as { server_id: string };
  await until(
    async () => {
      const { body } = await client.call("GetConnection", { token, input: { server_id: id } });
      return (
        (body as { data: { api_key_verification_status: string } }).data.api_key_verification_status === "verified"
      );
    },
    { what: "the connection is verified" },
  );
  await client.call("ListConnectionTools", { token, input: { server_id: id } });
  const { sessionId: session } = (await client.call("Initialize", { token })).body as { sessionId: string };

  const send = (request: RawRequest): Promise<RawAnswer> => {
    const { headers = [] } = request;
    const isOwn = headers.some((name) => name.toLowerCase() === "authorization");
    return sendRawRequest(service.url, {
      ...request,
      headers: isOwn ? headers : ["authorization", `Bearer ${token}`, ...headers],
    });
  };
  /** A digest of every row of every table, except for the times of last use and of the service's own verifications. */
  const everything = async (): Promise<readonly Record<string, unknown>[]> => {
    const tables = await accounts.query(
      "select tablename from pg_tables where schemaname = 'public' and tablename <> 'verification' order by tablename",
    );
    const counts = tables.map(
      ({ tablename: name }) =>
        `select '${String(name)}' as name, md5(coalesce(string_agg(row, ',' order by row), '')) as rows
          from ${String(name)} t, lateral (select (to_jsonb(t) - 'last_used_at')::text as row) r`,
    );
    return accounts.query(`${counts.join(" union all ")} order by name`);
  };
  const refused = async (request: RawRequest, status: number): Promise<RawAnswer> => {
    const before = await everything();
    const answer = await send(request);
    expect([answer.status, answer.text.slice(0, 300)]).toEqual([status, expect.anything()]);
    expect(await everything()).toEqual(before);
    return answer;
  };

  return {
    ...{ service, accounts, account, token, id, session, send },
    async refuses(request, status, detail = /./) {
      const answer = await refused(request, status);
      const { field, ...rest } = isJsonObject(answer.json) ? answer.json : {};
      expect(rest).toEqual({ detail: expect.stringMatching(detail), code: expect.any(String) });
      if (field !== undefined) expect([rest["code"], typeof field]).toEqual(["INVALID_ARGUMENT", "string"]);
    },
    async refusesConnect(request, status, code) {
      const answer = await refused(request, status);
      expect(answer.json).toMatchObject({ code });
    },
    async close() {
      await service.stop();
      await accounts.close();
      await upstream.close();
      await database.close();
    },
  };
}

export function jsonBody(value: JsonValue | string): Pick<RawRequest, "headers" | "body"> {
  return {
    headers: ["content-type", "application/json"],
    body: typeof value === "string" ? value : JSON.stringify(value),
  };
}

/** Returns an object of this nesting depth as JSON text. */
export function nested(levels: number): string {
  return '{"a":'.repeat(levels - 1) + "{}" + "}".repeat(levels - 1);
}
