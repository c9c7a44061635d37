"""A reader at a terminal directs a story: lines become messages, and a number waits for the choices that it means."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import trio

from agent.client.client import Client, Frame
from agent.client.story import StoryTerminal
from agent.errors import WireClosed

CHOICES = [{"id": "c1", "text": "She opens it."}, {"id": "c2", "text": "She\x1b[2J leaves."}]


class Storyteller:
    """Stands for a `Client`: each message is told at once, and `offered` follows each scene. `sent`: the messages."""

    def __init__(self, *offered: Frame) -> None:
        self.offered = offered
        self.sent: list[Frame] = []
        self._put, self._take = trio.open_memory_channel[Frame](100)

    def says(self, *frames: Frame) -> None:
        """Let the server send frames."""
        for frame in frames:
            self._put.send_nowait(frame)

    def hangs_up(self) -> None:
        """Let the server close."""
        self._put.close()

    async def send(self, frame: Frame) -> None:
        """Tell what a message directs."""
        await trio.lowlevel.checkpoint()
        self.sent.append(frame)
        id = frame["id"]
        self.says({"type": "stream", "id": id, "delta": "So it was."})
        self.says({"type": "stream_end", "id": id, "reason": "done"}, {"type": "response", "id": id})
        if "aside" not in frame:
            self.says({"type": "scene_stored", "id": id, "scene": f"s{id}"}, *self.offered)

    async def next_frame(self) -> Frame:
        """Return the next frame."""
        try:
            return await self._take.receive()
        except trio.EndOfChannel:
            raise WireClosed(1012) from None


async def play(wire: Storyteller, *lines: str) -> tuple[str, list[Any]]:
    """Return what a reader sees of these piped lines, and the fields of the messages that were sent."""
    shown: list[str] = []

    async def piped() -> AsyncIterator[str]:
        for line in lines:
            yield line

    async def silence() -> AsyncIterator[object]:
        await trio.sleep_forever()
        yield

    with trio.fail_after(60):
        terminal = StoryTerminal(cast(Client, wire), shown.append)
        assert await terminal.run(piped(), silence()) == 0
    sent = [{name: value for name, value in each.items() if name not in ("type", "id")} for each in wire.sent]
    return "".join(shown), sent


async def test_lines_and_numbers_direct(autojump_clock: trio.testing.MockClock) -> None:
    """A number waits for the choices of the scene before it; without lines left, the choices are shown."""
    wire = Storyteller()

    async def offer_late() -> None:
        for _ in range(2):
            await trio.sleep(14)
            wire.says({"type": "choices", "scene": "s1", "choices": CHOICES})

    async with trio.open_nursery() as nursery:
        nursery.start_soon(offer_late)
        shown, sent = await play(wire, "Mira finds a box.", "2", "/aside Who is she?", "/what")
    assert sent == [{"text": "Mira finds a box."}, {"choice": "c2"}, {"text": "Who is she?", "aside": True}]
    assert shown.count("  1. She opens it.\n") == 2
    assert "\x1b" not in shown
    assert "/retell tells" in shown


@pytest.mark.parametrize(
    ("offered", "remark"),
    [
        (CHOICES, "! there is no choice 7: type 1 to 2, or what happens next\n"),
        ([], "! no choices are offered"),
    ],
)
async def test_a_number_without_its_choice_is_no_directive(
    autojump_clock: trio.testing.MockClock, offered: list[Frame], remark: str
) -> None:
    """The reader is told so, after 15 s at most where no choices come."""
    frames: list[Frame] = [{"type": "choices", "scene": "s1", "choices": offered}] if offered else []
    began = trio.current_time()
    shown, sent = await play(Storyteller(*frames), "Mira waits.", "7")
    assert sent == [{"text": "Mira waits."}]
    assert remark in shown
    assert trio.current_time() - began <= 30


async def test_a_lost_connection_ends_the_story(autojump_clock: trio.testing.MockClock) -> None:
    """With its reason, also while lines are left."""
    wire, shown = Storyteller(), list[str]()
    wire.hangs_up()

    async def forever() -> AsyncIterator[str]:
        await trio.sleep_forever()
        yield ""

    assert await StoryTerminal(cast(Client, wire), shown.append).run(forever(), forever()) == 1
    assert "(1012)" in "".join(shown)
