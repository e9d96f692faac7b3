"""Takes every step with every upstream of MATRIX, and prints the results (see host-program.ts).

A library's module passes `tell` a function that opens a client of one address, whose person answers every form with
green. The client has `tools()` and `call(tool, arguments, on_progress)`, which returns the text of the result.
"""

import asyncio
import json
import os
import urllib.request

LIMIT_SECONDS = 20


def tell(open_client, lacks=()):
    """Runs the stories, except for the steps that the library lacks."""
    asyncio.run(tell_all(open_client, lacks))


async def tell_all(open_client, lacks):
    for story in json.loads(os.environ["MATRIX"]):
        try:
            async with open_client(story["url"], os.environ["TOKEN"]) as client:
                for step, take in STEPS.items():
                    if (step == "list" or step in story) and step not in lacks:
                        show(story, step, await outcome(take(client, story)))
        except Exception as error:
            show(story, "list", repr(error))


def show(story, step, result):
    print(json.dumps({"upstream": story["upstream"], "step": step, "result": result}), flush=True)


async def outcome(step):
    try:
        async with asyncio.timeout(LIMIT_SECONDS):
            await step
        return "yes"
    except Exception as error:
        return repr(error)


async def list_tools(client, story):
    names = await client.tools()
    for call in (story["call"], story["cancel"]):
        assert call["tool"] in names, names


async def expect_text(client, call, on_progress=None):
    text = await client.call(call["tool"], call["arguments"], on_progress)
    assert call["text"] in text, text


async def receive_progress(client, story):
    count = 0

    async def on_progress(*_args):
        nonlocal count
        count += 1

    await expect_text(client, story["progress"], on_progress)
    # Libraries may handle notifications beside the result.
    while count == 0:
        await asyncio.sleep(0.01)


async def cancel(client, story):
    async def on_progress(*_args):
        pass

    call = story["cancel"]
    task = asyncio.create_task(client.call(call["tool"], call["arguments"], on_progress))
    await witness(story, "started")
    task.cancel()
    results = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(results[0], BaseException), results
    await witness(story, "canceled")


async def witness(story, event):
    """Waits until the upstream has seen an event."""
    await asyncio.to_thread(urllib.request.urlopen, f"{story['control']}/{event}", timeout=LIMIT_SECONDS)


STEPS = {
    "list": list_tools,
    "call": lambda client, story: expect_text(client, story["call"]),
    "progress": receive_progress,
    "cancel": cancel,
    "input": lambda client, story: expect_text(client, story["input"]),
}
