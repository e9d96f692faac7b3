/** The configuration for one kind of client. */
export interface Snippet {
  readonly id: string;
  readonly title: string;
  /** Instructions for the text. */
  readonly hint: string;
  readonly text: string;
}

function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** Configurations with an address and a token. Hosts with their own login need no token. */
export function snippetsFor(url: string, token: string): readonly Snippet[] {
  const origin = new URL(url).origin;
  const host = new URL(url).host;
  return [
    {
      id: "claude",
      title: "Claude",
      hint: "Claude Code: run this. Claude on the web and the desktop: add a custom connector with the address; it asks you to log in.",
      text: `claude mcp add --transport http patchbay ${url}`,
    },
    {
      id: "cursor",
      title: "Cursor",
      hint: "Into ~/.cursor/mcp.json. Cursor asks you to log in.",
      text: json({ mcpServers: { patchbay: { url } } }),
    },
    {
      id: "vscode",
      title: "VS Code",
      hint: "Into .vscode/mcp.json. VS Code asks you to log in.",
      text: json({ servers: { patchbay: { type: "http", url } } }),
    },
    {
      id: "inspector",
      title: "Inspector",
      hint: "Lists the tools from a terminal.",
      text: `npx @modelcontextprotocol/inspector --cli ${url} --transport http --header "Authorization: Bearer ${token}" --method tools/list`,
    },
    {
      id: "curl",
      title: "curl",
      hint: "The same by hand.",
      text: [
        `curl ${url} -H "Authorization: Bearer ${token}" -H "Content-Type: application/json" \\`,
        `  -H "Accept: application/json, text/event-stream" -H "MCP-Protocol-Version: 2026-07-28" -H "Mcp-Method: tools/list" \\`,
        `  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"8"},"io.modelcontextprotocol/clientCapabilities":{}}}}'`,
      ].join("\n"),
    },
    {
      id: "typescript",
      title: "TypeScript",
      hint: "With openapi-fetch and the types of this service's contract.",
      text: `import createClient from "openapi-fetch";
import type { paths } from "./patchbay.ts"; // npx openapi-typescript ${origin}/openapi.json -o patchbay.ts

const client = createClient<paths>({ baseUrl: "${origin}", headers: { authorization: "Bearer ${token}" } });
console.log((await client.GET("/api/v1/mcp-servers")).data);`,
    },
    {
      id: "python",
      title: "Python",
      hint: "With the MCP SDK: pip install mcp.",
      text: `import asyncio
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main():
    headers = {"Authorization": "Bearer ${token}"}
    async with streamablehttp_client("${url}", headers=headers) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            print(await session.list_tools())

asyncio.run(main())`,
    },
    {
      id: "go",
      title: "Go",
      hint: "With clients generated from proto/ by buf: buf generate.",
      text: `conn, err := grpc.NewClient("${host}", grpc.WithTransportCredentials(insecure.NewCredentials()))
// With https: credentials.NewTLS(nil) in place of insecure.NewCredentials().
ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer ${token}")
list, err := patchbayv1.NewConnectionServiceClient(conn).ListConnections(ctx, &patchbayv1.ListConnectionsRequest{})`,
    },
    {
      id: "java",
      title: "Java",
      hint: "With clients generated from proto/ by buf: buf generate.",
      text: `var channel = Grpc.newChannelBuilder("${host}", InsecureChannelCredentials.create()).build();
// With https: TlsChannelCredentials.create() in place of InsecureChannelCredentials.create().
var headers = new Metadata();
headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer ${token}");
var client = ConnectionServiceGrpc.newBlockingStub(channel)
    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
client.listConnections(ListConnectionsRequest.getDefaultInstance());`,
    },
  ];
}
