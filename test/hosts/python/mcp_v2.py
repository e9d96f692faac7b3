"""The official Python SDK 2.x."""

from contextlib import asynccontextmanager

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from story import tell


class Client:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, tool, arguments, on_progress):
        result = await self.client.call_tool(tool, arguments, progress_callback=on_progress)
        return "".join(block.text for block in result.content if block.type == "text")


async def answer(_context, _params):
    return ElicitResult(action="accept", content={"color": "green"})


@asynccontextmanager
async def open_client(url, token):
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with mcp.Client(transport, elicitation_callback=answer) as client:
            yield Client(client)


tell(open_client)
