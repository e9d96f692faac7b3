// Connects an MCP server, calls a tool and deletes the connection, over gRPC and REST. Install the tarball of @patchbay/client with npm.
// Reads PATCHBAY_URL, CLIENT_ID, CLIENT_SECRET and UPSTREAM_URL (the MCP server) from the environment.
import { createClientCredentials, createRestClient } from "@patchbay/client";
import { ConnectError, createGrpcClients, ErrorInfoSchema } from "@patchbay/client/grpc";

const {
  PATCHBAY_URL: baseUrl = "http://127.0.0.1:8080",
  CLIENT_ID: clientId = "",
  CLIENT_SECRET: clientSecret = "",
  UPSTREAM_URL: upstream = "",
} = process.env;
const scope = "mgmt.read mgmt.write mcp.write";
const token = createClientCredentials({ baseUrl, clientId, clientSecret, scope });
const { connections, runtime } = createGrpcClients({ baseUrl, token });
const rest = createRestClient({ baseUrl, token });

const configuration = { url: upstream };
const created = await connections.createConnection({ serverType: "mcp", name: "Echo", configuration });
console.log("created:", created.name);
const { serverId } = created;
console.log("connections:", (await connections.listConnections({})).data.length);

for await (const event of connections.watchConnections({ serverId })) {
  if (event.connections.some(({ apiKeyVerificationStatus }) => apiKeyVerificationStatus !== "pending")) break;
}
const { data: tools } = await connections.listConnectionTools({ serverId });
console.log("tool:", tools?.tools[0]?.name);

const { sessionId } = await runtime.initialize({ protocolVersion: "2025-03-26" });
const call = { name: "echo", arguments: { message: "hello" } };
const { content } = await runtime.callTool(call, { headers: { "x-session-id": sessionId }, timeoutMs: 10_000 });
console.log("answer:", content[0]?.["text"]);

const params = { path: { server_id: serverId } };
const { data: updated } = await rest.PUT("/api/v1/mcp-servers/{server_id}", { params, body: { agent_enabled: false } });
console.log("enabled:", updated !== undefined && "data" in updated && updated.data.agent_enabled);
try {
  await connections.updateConnection({ serverId, accessType: "everything" });
} catch (error) {
  if (!(error instanceof ConnectError)) throw error;
  console.log("refused:", error.findDetails(ErrorInfoSchema)[0]?.reason, error.rawMessage);
}
await connections.deleteConnection({ serverId });
console.log("deleted");
