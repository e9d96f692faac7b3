"""Connects an MCP server, calls a tool and deletes the connection, over REST. Requires httpx.

Reads PATCHBAY_URL, CLIENT_ID, CLIENT_SECRET and UPSTREAM_URL (the MCP server) from the environment.
"""

import os
import time

import httpx

url = os.environ.get("PATCHBAY_URL", "http://127.0.0.1:8080")
answer = httpx.post(
    f"{url}/oauth2/token",
    auth=(os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"]),
    data={"grant_type": "client_credentials", "scope": "mgmt.read mgmt.write mcp.write"},
).raise_for_status()

with httpx.Client(base_url=url, headers={"authorization": f"Bearer {answer.json()['access_token']}"}) as http:
    request = {"server_type": "mcp", "name": "Echo", "configuration": {"url": os.environ["UPSTREAM_URL"]}}
    created = http.post("/api/v1/mcp-servers", json=request).raise_for_status().json()
    print("created:", created["name"])
    print("connections:", len(http.get("/api/v1/mcp-servers").json()["data"]))

    connection = f"/api/v1/mcp-servers/{created['server_id']}"
    while http.get(connection).json()["data"]["api_key_verification_status"] == "pending":
        time.sleep(0.2)
    print("tool:", http.get(f"{connection}/tools").json()["data"]["tools"][0]["name"])

    session = http.post("/mcp/initialize", json={"protocolVersion": "2025-03-26"}).json()
    result = http.post(
        "/mcp/tools/call",
        headers={"x-session-id": session["sessionId"]},
        json={"name": "echo", "arguments": {"message": "hello"}},
    ).json()
    print("answer:", result["content"][0]["text"])

    updated = http.put(connection, json={"agent_enabled": False}).raise_for_status().json()
    print("enabled:", str(updated["data"]["agent_enabled"]).lower())
    refused = http.put(connection, json={"access_type": "everything"}).json()
    print("refused:", refused["code"], refused["detail"])
    http.delete(connection).raise_for_status()
    print("deleted")
