#!/usr/bin/env bash
# Connects an MCP server, calls a tool and deletes the connection, with curl and jq.
# Reads PATCHBAY_URL, CLIENT_ID, CLIENT_SECRET and UPSTREAM_URL (the MCP server) from the environment.
set -euo pipefail
url="${PATCHBAY_URL:-http://127.0.0.1:8080}"

token=$(curl -sSf -u "$CLIENT_ID:$CLIENT_SECRET" "$url/oauth2/token" \
  -d grant_type=client_credentials -d "scope=mgmt.read mgmt.write mcp.write" | jq -r .access_token)

# ask METHOD PATH [BODY [HEADER]]
ask() {
  curl -sS -X "$1" "$url$2" -H "Authorization: Bearer $token" -H "Content-Type: application/json" \
    ${3:+-d "$3"} ${4:+-H "$4"}
}

created=$(ask POST /api/v1/mcp-servers \
  "$(jq -n --arg url "$UPSTREAM_URL" '{server_type: "mcp", name: "Echo", configuration: {$url}}')")
echo "created: $(jq -r .name <<<"$created")"
echo "connections: $(ask GET /api/v1/mcp-servers | jq '.data | length')"

connection="/api/v1/mcp-servers/$(jq -r .server_id <<<"$created")"
while [ "$(ask GET "$connection" | jq -r .data.api_key_verification_status)" = pending ]; do sleep 0.2; done
echo "tool: $(ask GET "$connection/tools" | jq -r '.data.tools[0].name')"

session=$(ask POST /mcp/initialize '{"protocolVersion": "2025-03-26"}' | jq -r .sessionId)
echo "answer: $(ask POST /mcp/tools/call '{"name": "echo", "arguments": {"message": "hello"}}' \
  "X-Session-ID: $session" | jq -r '.content[0].text')"

echo "enabled: $(ask PUT "$connection" '{"agent_enabled": false}' | jq .data.agent_enabled)"
echo "refused: $(ask PUT "$connection" '{"access_type": "everything"}' | jq -r '"\(.code) \(.detail)"')"
ask DELETE "$connection" >/dev/null
echo "deleted"
