import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { GREEN, type Host, type OpenHost, textOf, versionOf } from "./host.ts";

const INFO = { name: "matrix", version: "1.0.0" };
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } };

/** The official SDK v1: sessions of 2025-11-25. */
export const SDK_V1: Host = {
  name: "SDK v1",
  version: versionOf("@modelcontextprotocol/sdk"),
  lacks: {},
  open: (url, token) =>
    openSdkV1(new TransportV1(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }) as Transport),
};

/** A client of the SDK v1 over any transport. */
export async function openSdkV1(transport: Transport): Promise<OpenHost> {
  const client = new ClientV1(INFO, CAPABILITIES);
  client.setRequestHandler(ElicitRequestSchema, () => GREEN);
  await client.connect(transport);
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, { onProgress, signal } = {}) =>
      textOf(
        await client.callTool({ name, arguments: args }, CallToolResultSchema, {
          ...(onProgress !== undefined && { onprogress: onProgress }),
          ...(signal !== undefined && { signal }),
        }),
      ),
    close: () => client.close(),
  };
}

/** The official SDK v2, in the older revision that is its default. */
export const SDK_V2_SESSIONS: Host = {
  name: "SDK v2",
  version: `${versionOf("@modelcontextprotocol/client")} (2025-11-25)`,
  lacks: {},
  open: (url, token) => openSdkV2(url, token, "legacy"),
};

/** The official SDK v2. */
export const SDK_V2: Host = {
  name: "SDK v2",
  version: `${versionOf("@modelcontextprotocol/client")} (2026-07-28)`,
  lacks: {},
  open: (url, token) => openSdkV2(url, token, "auto"),
};

async function openSdkV2(url: URL, token: string, mode: "legacy" | "auto"): Promise<OpenHost> {
  const client = new ClientV2(INFO, { ...CAPABILITIES, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", () => GREEN);
  await client.connect(new TransportV2(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args, { onProgress, signal } = {}) =>
      textOf(
        await client.callTool(
          { name, arguments: args },
          {
            ...(onProgress !== undefined && { onprogress: onProgress }),
            ...(signal !== undefined && { signal }),
          },
        ),
      ),
    close: () => client.close(),
  };
}
