import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { startService } from "../support/service.ts";

/** A service as `npm start` runs it, and an MCP server that it may call. */
export interface LiveService {
  /** The environment of a new user: the client of a new account, and both addresses. */
  newUser(): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

/** Starts both, with an embedded database in its own folder. */
export async function startLiveService(): Promise<LiveService> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-clients-"));
  const upstream = await startEverythingServer();
  const env = { DATA_DIR: folder, OUTBOUND_ALLOW: new URL(upstream.url).host, LOG_LEVEL: "warn" };
  const service = await startService({ env });
  let count = 0;
  return {
    newUser: async () => {
      const email = `user-${++count}@example.com`;
      await service.command("account", "create", "--email", email);
      const scope = "mgmt.read mgmt.write mcp.write";
      const client = await service.command("client", "create", "--account", email, "--scope", scope);
      return {
        PATCHBAY_URL: service.url,
        CLIENT_ID: String(client["client_id"]),
        CLIENT_SECRET: String(client["client_secret"]),
        UPSTREAM_URL: upstream.url,
      };
    },
    stop: async () => {
      await service.stop();
      await upstream.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
