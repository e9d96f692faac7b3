import { openAccounts } from "../support/accounts.ts";
import { startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type MatrixUpstream, startUpstreams } from "./upstreams.ts";

/** A service with a connection to every upstream of the matrix. */
export interface MatrixService {
  readonly token: string;
  readonly upstreams: readonly (MatrixUpstream & { readonly url: URL })[];
  close(): Promise<void>;
}

/** `env` and `databaseUrl` are those of the service. */
export async function startMatrixService(options: Parameters<typeof startService>[0]): Promise<MatrixService> {
  const upstreams = await startUpstreams();
  const OUTBOUND_ALLOW = upstreams.map(({ witness }) => witness.host).join(",");
  const service = await startService({ ...options, env: { LOG_LEVEL: "warn", ...options.env, OUTBOUND_ALLOW } });
  const accounts = await openAccounts(service.env);
  const token = await (await accounts.create()).token();
  await accounts.close();
  const address = `${service.url}/api/v1/mcp-servers`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

  async function connect({ connection }: MatrixUpstream): Promise<URL> {
    const created = await fetch(address, { method: "POST", headers, body: JSON.stringify(connection) });
    const { server_id: id } = (await created.json()) as { server_id: string };
    await until(
      async () => {
        const listed = await fetch(`${address}/${id}/tools`, { headers });
        const { data } = (await listed.json()) as { data?: { tools: unknown[] } };
        return (data?.tools.length ?? 0) > 0;
      },
      { what: `the connection ${String(connection["name"])} has tools` },
    );
    return new URL(`${service.url}/mcp/${id}`);
  }

  return {
    token,
    upstreams: await Promise.all(upstreams.map(async (upstream) => ({ ...upstream, url: await connect(upstream) }))),
    close: async () => {
      await service.stop();
      for (const upstream of upstreams) await upstream.close();
    },
  };
}
