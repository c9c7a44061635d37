"""`agent demo`: five scenes that show the server's promises, in memory and without a network.

Strategy: the real server (`App`) over memory streams, with the knowledge base that ships with it, so that a reader of
a citation can open its file, and a `ScriptModel` without vectors, so that it does and says the same everywhere. Each
scene checks the promise that it shows; a broken promise ends the demo with exit status 1.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import trio
import trio.testing

from .. import log
from ..app import App
from ..client.client import Client, Frame, connect_over
from ..client.descriptions import describe_outcome, describe_response
from ..compose.adapters import Adapters
from ..errors import AgentError, UsageError
from ..llm.script import ScriptEntry, ScriptModel
from ..ports.work import RunSync
from ..settings import Settings
from ..text.terminal import printable

PRICE = "What does the standard plan cost per month?"
RETURNS = "How long is the return period, and what does a return cost?"
PREMIUM = "What does the premium plan cost per month?"
CALL = "When does customer service answer the phone? Please call me back on 070-174 06 05."

SCRIPT = (
    ScriptEntry(match=PRICE, text="The Standard plan costs 299 kr per month."),
    ScriptEntry(match=PREMIUM, text="The Premium plan costs 649 kr per month."),
    ScriptEntry(
        match=RETURNS,
        text="The return period is 30 days from the day you received the parcel. Return shipping costs 59 kr and "
        "is deducted from the refund. Faulty devices are returned free of charge.",
    ),
    ScriptEntry(match=CALL, text="Customer service opens at 08:00 and closes at 18:00, Monday to Friday."),
)

PACE_MS = 60.0
PATIENCE = 10.0  # seconds for one scene
SILENCE = 1.0  # seconds in which nothing may come after a cancel
READING = 1.5  # seconds between two scenes

Write = Callable[[str], None]


class PromiseBroken(AgentError):
    """A scene did not go as promised."""


async def demo() -> int:
    """Show the server's promises in five scenes of half a minute, in memory and without a network.

    A grounded answer, a refused invention, a cancel, a confirmed action, and a second confirm of it.

    Example: agent demo
    """
    log.configure("console", "error")
    return await play(_print)


async def play(write: Write, run_sync: RunSync | None = None) -> int:
    """Play the scenes and return the exit status: 0, or 1 when a promise did not hold.

    `run_sync`: does blocking work; tests on virtual time give an inline call.
    """
    server = App(
        Settings.of(kb=find_shipped_kb(), pace_ms=PACE_MS, vectors="off"),
        Adapters(model=ScriptModel(SCRIPT), run_sync=run_sync),
    )
    near, far = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.run, False)
        nursery.start_soon(server.serve_stream, far)
        status = await _watch(near, server, write)
        server.stop()
    return status


def find_shipped_kb() -> Path:
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
        async with connect_over(stream, host) as client:
            for number, scene in enumerate((_show_grounded, _show_invention, _show_cancel, _show_action), 1):
                write(f"\n{number}. " if number > 1 else "1. ")
                with trio.fail_after(PATIENCE):
                    await scene(client, write)
                await trio.sleep(READING)
        write("\nAll five went as promised. Now with your own files: agent serve --kb DIR\n")
    except (PromiseBroken, trio.TooSlowError) as broken:
        write(f"\nThis is not what was promised: {str(broken) or 'no answer came'}\n")
        return 1
    return 0


async def _show_grounded(client: Client, write: Write) -> None:
    write("A grounded answer: every number stands in a source that is cited with it.\n")
    response = await _ask_question(client, PRICE, write)
    _require("blocked" not in response, "the answer was refused")
    sources = "\n".join(citation["snippet"] for citation in response["citations"])
    _require("299" in response["text"] and "299" in sources, "the price has no source")


async def _show_invention(client: Client, write: Write) -> None:
    write("A refused invention: the model drafts 649 kr, which no source holds. You never see its draft.\n")
    response = await _ask_question(client, PREMIUM, write)
    _require(response.get("blocked", {}).get("code") == "number_mismatch", "the answer was not refused")
    _require("649" not in str(response), "the invented number got through")


async def _show_cancel(client: Client, write: Write) -> None:
    write("A cancel: the answer stops at once, and nothing of it follows.\n")
    id = await _send_question(client, RETURNS, write)
    for _ in range(6):
        _write_delta(await _wait_frame(client, "stream"), write)
    before = trio.current_time()
    await client.cancel()
    late = -1
    frame: Frame = {"type": "stream"}
    while frame["type"] == "stream":  # frames that were on their way when the cancel was sent
        late += 1
        frame = await client.next_frame()
    seconds = trio.current_time() - before
    write(f"\n   /cancel: stopped after {seconds * 1000:.0f} ms, {late} words were still on their way\n")
    _require(
        (frame["type"], frame.get("reason"), frame.get("id")) == ("stream_end", "cancelled", id), "no end"
    )
    with trio.move_on_after(SILENCE):
        raise PromiseBroken(f"a frame came after the end: {(await client.next_frame())['type']}")


async def _show_action(client: Client, write: Write) -> None:
    write("A confirmed action: it runs when you say so, and not before.\n")
    await _ask_question(client, CALL, write)
    suggestion = await _wait_frame(client, "action_suggestion")
    write(f"   suggested: {suggestion['action']}\n   you confirm it\n")
    executed = await _confirm(client, suggestion, write)
    _require(executed["result"].get("success") is True, "the action did not run")
    await trio.sleep(READING)
    write("\n5. A duplicate confirm: it runs at most once.\n   you confirm it again\n")
    again = await _confirm(client, suggestion, write)
    _require(again["result"] == {"ignored": True}, "the second confirm was not ignored")


async def _confirm(client: Client, suggestion: Frame, write: Write) -> Frame:
    await client.confirm(suggestion["suggestionId"])
    executed = await _wait_frame(client, "action_executed")
    write(f"   {describe_outcome(executed['result'])}\n")
    return executed


async def _send_question(client: Client, question: str, write: Write) -> str:
    write(f"   you:   {question}\n   agent: ")
    return await client.ask(question)


async def _ask_question(client: Client, question: str, write: Write) -> Frame:
    """Ask, write the answer as it streams and its sources, and return the response."""
    await _send_question(client, question, write)
    streamed = ""
    frame = await client.next_frame()
    while frame["type"] != "response":
        if frame["type"] == "stream":
            streamed += _write_delta(frame, write)
        frame = await client.next_frame()
    _require(streamed == frame["text"], "the streamed words are not the response")
    write("\n" + "".join(f"   {line}\n" for line in describe_response(frame)))
    return frame


async def _wait_frame(client: Client, kind: str) -> Frame:
    return (await client.frames_until(kind))[-1]


def _write_delta(frame: Frame, write: Write) -> str:
    write(frame["delta"])
    delta: str = frame["delta"]
    return delta


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise PromiseBroken(otherwise)


def _print(text: str) -> None:
    sys.stdout.write(printable(text))
    sys.stdout.flush()
