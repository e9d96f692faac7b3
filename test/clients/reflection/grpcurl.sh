#!/usr/bin/env bash
# Uses gRPC only through server reflection: grpcurl gets nothing from the project except the address.
# PATCHBAY_URL, CLIENT_ID, CLIENT_SECRET and UPSTREAM_URL (an MCP server) in the environment.
set -euo pipefail
address="${PATCHBAY_URL#http://}"
token=$(curl -sSf -u "$CLIENT_ID:$CLIENT_SECRET" "$PATCHBAY_URL/oauth2/token" -d grant_type=client_credentials | jq -r .access_token)

# ask BODY METHOD
ask() {
  grpcurl -plaintext -format-error -H "authorization: Bearer $token" -d "$1" "$address" "patchbay.v1.ConnectionService/$2"
}

echo "health: $(grpcurl -plaintext "$address" grpc.health.v1.Health/Check | jq -r .status)"
echo "service: $(grpcurl -plaintext "$address" list | grep -x patchbay.v1.ConnectionService)"
echo "method: $(grpcurl -plaintext "$address" describe patchbay.v1.ConnectionService.CreateConnection | grep -o 'rpc CreateConnection')"
created=$(ask "$(jq -n --arg url "$UPSTREAM_URL" '{server_type: "mcp", name: "Echo", configuration: {$url}}')" CreateConnection)
echo "created: $(jq -r .name <<<"$created")"
echo "connections: $(ask '{}' ListConnections | jq '.data | length')"
id=$(jq -r .server_id <<<"$created")
refused=$(ask "{\"server_id\": \"$id\", \"access_type\": \"everything\"}" UpdateConnection 2>&1 || true)
echo "refused: $(jq -r '[.details[] | .reason // (.fieldViolations // .field_violations)[0].field] | join(" ")' <<<"$refused")"
ask "{\"server_id\": \"$id\"}" DeleteConnection >/dev/null
echo "deleted"
