"""`agent demo`: five scenes that show what the server promises, in memory and without a network.

Strategy: the real server over memory streams, with the knowledge base that ships with it, so that whoever reads a
citation can open its file, and a scripted model without vectors, so that it does and says the same everywhere. Each
scene checks what it shows; a promise that does not hold ends the demo with exit status 1.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import trio
import trio.testing

from .. import log
from ..app import App
from ..client.client import Client, Frame, over
from ..client.telling import after, outcome
from ..compose.adapters import Adapters
from ..errors import AgentError, UsageError
from ..llm.script import Entry, ScriptModel
from ..ports.work import RunSync
from ..settings import Settings
from ..text.terminal import printable

PRICE = "What does the standard plan cost per month?"
RETURNS = "How long is the return period, and what does a return cost?"
PREMIUM = "What does the premium plan cost per month?"
CALL = "When does customer service answer the phone? Please call me back on 070-174 06 05."

SCRIPT = (
    Entry(match=PRICE, text="The Standard plan costs 299 kr per month."),
    Entry(match=PREMIUM, text="The Premium plan costs 649 kr per month."),
    Entry(
        match=RETURNS,
        text="The return period is 30 days from the day you received the parcel. Return shipping costs 59 kr and "
        "is deducted from the refund. Faulty devices are returned free of charge.",
    ),
    Entry(match=CALL, text="Customer service opens at 08:00 and closes at 18:00, Monday to Friday."),
)

PACE_MS = 60.0
PATIENCE = 10.0  # seconds for one scene
SILENCE = 1.0  # seconds in which nothing may come after a cancel
READING = 1.5  # seconds between two scenes

Write = Callable[[str], None]


class PromiseBroken(AgentError):
    """A scene did not go as promised."""


async def demo() -> int:
    """Show in memory, without a network, what the server promises: five scenes in half a minute.

    A grounded answer, a refused invention, a cancel, a confirmed action, and a second confirm of it.

    Example: agent demo
    """
    log.configure("console", "error")
    return await play(_print)


async def play(write: Write, run_sync: RunSync | None = None) -> int:
    """Play the scenes and return the exit status: 0, or 1 when a promise did not hold.

    run_sync: how blocking work is done; tests on virtual time give an inline call.
    """
    server = App(
        Settings.of(kb=shipped(), pace_ms=PACE_MS, vectors="off"),
        Adapters(model=ScriptModel(SCRIPT), run_sync=run_sync),
    )
    near, far = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run, False)
        nursery.start_soon(server.serve_stream, far)
        status = await _watch(near, server, write)
        server.stop()
    return status


def shipped() -> Path:
    """Return the folder of the knowledge base that ships with the program: in its wheel, or beside its source.

    Raises `agent.errors.UsageError` when it is in neither.
    """
    package = Path(__file__).parents[1]
    for folder in (package / "kb", package.parent / "kb"):
        if (folder / "pricing.md").is_file():
            return folder
    raise UsageError(
        "the demo's knowledge base is missing from this installation: install agent-server again"
    )


async def _watch(stream: trio.abc.Stream, server: App, write: Write) -> int:
    host = f"{server.settings.server.host}:{server.port}"
    try:
        async with over(stream, host) as client:
            for number, scene in enumerate((_grounded, _invention, _cancel, _action), 1):
                write(f"\n{number}. " if number > 1 else "1. ")
                with trio.fail_after(PATIENCE):
                    await scene(client, write)
                await trio.sleep(READING)
        write("\nAll five went as promised. Now with your own files: agent serve --kb DIR\n")
    except (PromiseBroken, trio.TooSlowError) as broken:
        write(f"\nThis is not what was promised: {str(broken) or 'no answer came'}\n")
        return 1
    return 0


async def _grounded(client: Client, write: Write) -> None:
    write("A grounded answer: every number stands in a source that is cited with it.\n")
    response = await _question(client, PRICE, write)
    _must("blocked" not in response, "the answer was refused")
    sources = "\n".join(citation["snippet"] for citation in response["citations"])
    _must("299" in response["text"] and "299" in sources, "the price has no source")


async def _invention(client: Client, write: Write) -> None:
    write("A refused invention: the model drafts 649 kr, which no source holds. You never see its draft.\n")
    response = await _question(client, PREMIUM, write)
    _must(response.get("blocked", {}).get("code") == "number_mismatch", "the answer was not refused")
    _must("649" not in str(response), "the invented number got through")


async def _cancel(client: Client, write: Write) -> None:
    write("A cancel: the answer stops at once, and nothing of it follows.\n")
    id = await _put(client, RETURNS, write)
    for _ in range(6):
        _say(await _next(client, "stream"), write)
    before = trio.current_time()
    await client.cancel()
    late = -1
    frame: Frame = {"type": "stream"}
    while frame["type"] == "stream":  # what was on its way when the cancel was sent
        late += 1
        frame = await client.next_frame()
    seconds = trio.current_time() - before
    write(f"\n   /cancel: stopped after {seconds * 1000:.0f} ms, {late} words were still on their way\n")
    _must((frame["type"], frame.get("reason"), frame.get("id")) == ("stream_end", "cancelled", id), "no end")
    with trio.move_on_after(SILENCE):
        raise PromiseBroken(f"a frame came after the end: {(await client.next_frame())['type']}")


async def _action(client: Client, write: Write) -> None:
    write("A confirmed action: it runs when you say so, and not before.\n")
    await _question(client, CALL, write)
    suggestion = await _next(client, "action_suggestion")
    write(f"   suggested: {suggestion['action']}\n   you confirm it\n")
    executed = await _confirm(client, suggestion, write)
    _must(executed["result"].get("success") is True, "the action did not run")
    await trio.sleep(READING)
    write("\n5. A duplicate confirm: it runs at most once.\n   you confirm it again\n")
    again = await _confirm(client, suggestion, write)
    _must(again["result"] == {"ignored": True}, "the second confirm was not ignored")


async def _confirm(client: Client, suggestion: Frame, write: Write) -> Frame:
    await client.confirm(suggestion["suggestionId"])
    executed = await _next(client, "action_executed")
    write(f"   {outcome(executed['result'])}\n")
    return executed


async def _put(client: Client, question: str, write: Write) -> str:
    write(f"   you:   {question}\n   agent: ")
    return await client.ask(question)


async def _question(client: Client, question: str, write: Write) -> Frame:
    """Ask, write the answer as it streams and its sources, and return the response."""
    await _put(client, question, write)
    said = ""
    frame = await client.next_frame()
    while frame["type"] != "response":
        if frame["type"] == "stream":
            said += _say(frame, write)
        frame = await client.next_frame()
    _must(said == frame["text"], "the streamed words are not the response")
    write("\n" + "".join(f"   {line}\n" for line in after(frame)))
    return frame


async def _next(client: Client, kind: str) -> Frame:
    return (await client.frames_until(kind))[-1]


def _say(frame: Frame, write: Write) -> str:
    write(frame["delta"])
    delta: str = frame["delta"]
    return delta


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise PromiseBroken(otherwise)


def _print(text: str) -> None:
    sys.stdout.write(printable(text))
    sys.stdout.flush()
