#!/usr/bin/env bash
# Uses gRPC only through server reflection: buf curl gets nothing from the project except the address.
# PATCHBAY_URL, CLIENT_ID, CLIENT_SECRET and UPSTREAM_URL (an MCP server) in the environment.
set -euo pipefail
token=$(curl -sSf -u "$CLIENT_ID:$CLIENT_SECRET" "$PATCHBAY_URL/oauth2/token" -d grant_type=client_credentials | jq -r .access_token)
grpc=(buf curl --protocol grpc --http2-prior-knowledge)

# ask BODY METHOD
ask() {
  "${grpc[@]}" --header "Authorization: Bearer $token" --data "$1" "$PATCHBAY_URL/patchbay.v1.ConnectionService/$2"
}

echo "health: $("${grpc[@]}" --data '{}' "$PATCHBAY_URL/grpc.health.v1.Health/Check" | jq -r .status)"
echo "service: $("${grpc[@]}" --list-services "$PATCHBAY_URL" | grep -x patchbay.v1.ConnectionService)"
echo "method: rpc $("${grpc[@]}" --list-methods "$PATCHBAY_URL" | grep -o 'CreateConnection$')"
created=$(ask "$(jq -n --arg url "$UPSTREAM_URL" '{server_type: "mcp", name: "Echo", configuration: {$url}}')" CreateConnection)
echo "created: $(jq -r .name <<<"$created")"
echo "connections: $(ask '{}' ListConnections | jq '.data | length')"
id=$(jq -r .server_id <<<"$created")
refused=$(ask "{\"server_id\": \"$id\", \"access_type\": \"everything\"}" UpdateConnection 2>&1 || true)
# Over gRPC, buf prints the details as received: base64 without padding.
details=$(jq -r '.details[].value' <<<"$refused" | while read -r value; do
  { base64 -d <<<"$value" 2>/dev/null || true; } | tr -cd '[:print:]'
done)
echo "refused: $(grep -o INVALID_ARGUMENT <<<"$details" | head -n 1) $(grep -o access_type <<<"$details" | head -n 1)"
ask "{\"server_id\": \"$id\"}" DeleteConnection >/dev/null
echo "deleted"
