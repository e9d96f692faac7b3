"""The official Python SDK 1.x."""

from contextlib import asynccontextmanager

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from story import tell


class Client:
    def __init__(self, session):
        self.session = session

    async def tools(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, tool, arguments, on_progress):
        result = await self.session.call_tool(tool, arguments, progress_callback=on_progress)
        return "".join(block.text for block in result.content if block.type == "text")


async def answer(_context, _params):
    return ElicitResult(action="accept", content={"color": "green"})


@asynccontextmanager
async def open_client(url, token):
    async with (
        httpx.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write, elicitation_callback=answer) as session,
    ):
        await session.initialize()
        yield Client(session)


# A canceled call ends only locally.
tell(open_client, lacks=["cancel"])
