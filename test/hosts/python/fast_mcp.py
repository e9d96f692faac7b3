"""FastMCP's client."""

from contextlib import asynccontextmanager

import fastmcp
from fastmcp.client.transports import StreamableHttpTransport

from story import tell


class Client:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, tool, arguments, on_progress):
        result = await self.client.call_tool(tool, arguments, progress_handler=on_progress)
        return "".join(block.text for block in result.content if block.type == "text")


async def answer(_message, _type, _params, _context):
    return {"color": "green"}


@asynccontextmanager
async def open_client(url, token):
    transport = StreamableHttpTransport(url, auth=token)
    async with fastmcp.Client(transport, elicitation_handler=answer) as client:
        yield Client(client)


tell(open_client)
