import { openAccounts, type TestAccount, type TestAccounts } from "../../support/accounts.ts";
import { createProtocolClient } from "../../support/clients.ts";
import { createTestDatabase } from "../../support/database.ts";
import { createWire, type Wire } from "../../support/mcp-wire.ts";
import { createOwner, type Owner } from "../../support/owner.ts";
import { type Service, startService } from "../../support/service.ts";
import { startUpstream, type Upstream } from "../../support/upstream.ts";

/** A service with one account and one connection to a mock upstream. */
export interface McpWorld {
  readonly service: Service;
  readonly upstream: Upstream;
  readonly accounts: TestAccounts;
  readonly account: TestAccount;
  readonly owner: Owner;
  readonly token: string;
  /** Connection ID in decimal. */
  readonly id: string;
  /** Returns an MCP client for a URL, by default `/mcp` with the token of the account. */
  wire(path?: string, token?: string): Wire;
  close(): Promise<void>;
}

/** `hosts` lists additional upstream hosts that the service is allowed to reach. */
export async function createMcpWorld(
  env: Readonly<Record<string, string>> = {},
  hosts: readonly string[] = [],
): Promise<McpWorld> {
  const [database, upstream] = await Promise.all([createTestDatabase(), startUpstream()]);
  const service = await startService({
    databaseUrl: database.url,
    env: { OUTBOUND_ALLOW: [upstream.host, ...hosts].join(","), ...env },
  });
  const accounts = await openAccounts(service.env);
  const account = await accounts.create();
  const token = await account.token();
  const owner = createOwner(createProtocolClient("rest", service.url), token);
  const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
  await owner.waitFor(id, "verified");
  return {
    ...{ service, upstream, accounts, account, owner, token, id },
    wire: (path = "/mcp", withToken = token) => createWire(service.url, withToken, path),
    close: async () => {
      await service.kill();
      await accounts.close();
      await upstream.close();
      await database.close();
    },
  };
}
