"""A person at a terminal talks to a server: `agent chat`, and one question: `agent ask`.

Strategy: `TerminalChat` knows frames and lines and nothing of terminals; it is given the source of lines, the source
of interrupts and a function that writes. Each field that the server sends is cleaned before it is shown, names too,
since a source or a webhook may hold anything. A line typed during an answer interrupts it, as in any client; lines
from a pipe wait for the answer before them.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import ClassVar

import trio

from ..errors import WireClosed
from ..text.terminal import printable_line
from .client import Client, Frame
from .descriptions import (
    CLOSED,
    describe_action,
    describe_delta,
    describe_missing,
    describe_outcome,
    describe_response,
    describe_suggestions,
    group_sources,
    parse_fields,
)
from .memory import COMMANDS, REMEMBER, MemoryCommands, describe_proposal, describe_usage, is_remembered
from .source_view import CannotOpen, SourceOpener
from .terminal_session import run_session

HELP = """\
Type a question. While it is answered: /cancel or Ctrl-C stops it, another
question interrupts it. /source N opens a source of the last answer,
/confirm [N] runs a suggested action, /reject [N] declines it. What an action
lacks is typed with it: /confirm 1 phone=070-123 45 67
/memory lists what is remembered and proposed, and how to decide about each:
/accept ID, /decline ID, /start ID, /done ID, /block ID, /unblock ID and
/reopen ID. /edit ID TEXT corrects one, /forget ID forgets it.
/quit or Ctrl-C twice leaves."""
LULL = 0.5  # seconds without a frame after which no suggestion follows an answer: a server sends them right behind it
AT_HAND = 0.05  # seconds to take the frames that are here already

ANSWERED, FAILED, REFUSED = 0, 1, 3  # exit statuses
_DIGITS = 6  # of a number that a person types

Write = Callable[[str], None]


class TerminalChat:
    """One conversation on a terminal.

    `interactive`: a person types, so a new question interrupts; otherwise it waits for the previous answer.
    `now`: returns the wall clock in seconds, for `expiresAt`. `opener`: opens a citation in its source.
    """

    def __init__(
        self,
        client: Client,
        write: Write,
        opener: SourceOpener,
        interactive: bool = True,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._opener = opener
        self._cited: list[list[Frame]] = []  # sections, by the last answer that cites anything
        self._write = write
        self._interactive = interactive
        self._now = now
        self._open: set[str] = set()  # messages and actions without an end yet
        self._none_open = trio.Event()  # set while no message is open
        self._none_open.set()
        self._next_frame = trio.Event()  # set by the next frame
        self._midline = False
        self._suggested: list[str] = []  # every suggestion of this chat; the user types its place, from 1
        self._live: list[str] = []
        self._missing: dict[str, tuple[str, ...]] = {}  # the fields that each suggestion lacks
        self._memory = MemoryCommands()

    async def run(self, lines: AsyncIterator[str], interrupts: AsyncIterator[object]) -> int:
        """Run the chat until the user leaves (return 0) or the connection ends (1). Cancelled, it stops at once."""
        return await run_session(
            self._client,
            lines,
            interrupts,
            show=self._show,
            write_line=self._write_lines,
            run_line=self._run_line,
            stop=self._stop,
            finish=self._finish,
        )

    async def _stop(self) -> None:
        """Cancel the answer in progress; without one a cancel would close the suggestions."""
        if self._open:
            await self._client.cancel()

    async def _finish(self) -> None:
        """Wait for the last answer, and in a pipe for the suggestions that follow it."""
        await self._none_open.wait()
        if not self._interactive:
            await self._wait_for_lull()

    async def _run_line(self, line: str) -> bool:
        """Run a command, or ask a question; return whether `/quit` leaves the chat."""
        command, _, rest = line.partition(" ")
        if not self._interactive and command != "/cancel":
            await self._none_open.wait()
        if command == "/quit":
            return True
        if command == "/cancel":
            await self._client.cancel()
        elif command in ("/confirm", "/reject"):
            if not self._interactive:
                await self._wait_for_lull()
            await (self._confirm if command == "/confirm" else self._reject)(rest.strip())
        elif command in COMMANDS:
            await self._run_memory_command(command, rest.strip())
        elif command == "/source":
            await self._open_source(rest)
        elif command.startswith("/"):
            self._write_lines(HELP)
        else:
            self._note_begin(await self._client.ask(line))
        return False

    async def _confirm(self, typed: str) -> None:
        """Confirm the typed suggestion with its missing fields, or show how to type them."""
        number, _, rest = typed.partition(" ")
        if not number.isdecimal():
            number, rest = "", typed
        suggestion = self._find_suggestion(number)
        if suggestion is None:
            return
        missing = self._missing[suggestion]
        values = parse_fields(rest, missing)
        if values is None:
            place = self._suggested.index(suggestion) + 1
            self._write_lines(
                f"! type it so, with what is missing: /confirm {place}{describe_missing(missing)}"
            )
            return
        self._note_begin(suggestion)
        await self._client.confirm(suggestion, values if missing else None)

    async def _reject(self, number: str) -> None:
        suggestion = self._find_suggestion(number)
        if suggestion is not None:
            self._note_begin(suggestion)
            await self._client.reject(suggestion)

    async def _run_memory_command(self, command: str, typed: str) -> None:
        """Send a memory command, or show its usage when it is typed wrongly."""
        frame = self._memory.make_frame(command, typed)
        if frame is None:
            self._write_lines(f"! {describe_usage(command)}")
            return
        self._note_begin(frame["id"])
        await self._client.send(frame)

    async def _open_source(self, number: str) -> None:
        """Show a source of the last answer: that with the typed number, or without a number the first."""
        place = _parse_place(number.strip() or "1", len(self._cited))
        if place is None:
            self._write_lines("There is no such source.")
            return
        citation = self._cited[place][0]
        if is_remembered(citation):
            self._write_lines("This is remembered, and stands in no file; /memory lists what is.")
            return
        try:
            self._write_lines(*await self._opener(citation))
        except CannotOpen as error:
            self._write_lines(f"! the source cannot be opened: {error}")

    def _note_begin(self, id: str) -> None:
        """Note a message or an action that the server has not ended yet."""
        self._open.add(id)
        self._none_open = trio.Event()

    async def _wait_for_lull(self) -> None:
        """Wait until no frame has come for `LULL` seconds: no frame says how many suggestions follow an answer."""
        has_frame = True
        while has_frame:
            self._next_frame = trio.Event()
            with trio.move_on_after(LULL) as waiting:
                await self._next_frame.wait()
            has_frame = not waiting.cancelled_caught

    def _find_suggestion(self, number: str) -> str | None:
        """Return the suggestion with the typed number, or without one the newest that is live."""
        if not number and self._live:
            return self._live[-1]
        place = _parse_place(number, len(self._suggested))
        if place is not None:
            return self._suggested[place]
        self._write_lines("There is no such suggestion.")
        return None

    def _show(self, frame: Frame) -> None:
        self._next_frame.set()
        show = self._SHOW.get(frame["type"])
        if show:
            show(self, frame)

    def _show_delta(self, frame: Frame) -> None:
        self._write(describe_delta(frame))
        self._midline = True

    def _show_stream_end(self, frame: Frame) -> None:
        if frame["reason"] == "cancelled":
            self._write_lines("(stopped)")
            self._note_end(frame)

    def _show_response(self, frame: Frame) -> None:
        self._cited = group_sources(frame["citations"]) or self._cited
        self._write_lines(*describe_response(frame))
        self._note_end(frame)

    def _show_suggestion(self, frame: Frame) -> None:
        self._suggested.append(frame["suggestionId"])
        self._live.append(frame["suggestionId"])
        missing = self._missing[frame["suggestionId"]] = tuple(frame.get("missing", ()))
        number = len(self._suggested)
        seconds_left = max(0, round(frame.get("expiresAt", 0) / 1000 - self._now()))
        countdown = f"; {seconds_left} s left" if "expiresAt" in frame else ""
        lines = [describe_action(frame)]
        if frame["action"] == REMEMBER and "text" in frame["payload"]:
            lines = describe_proposal(frame["payload"])
        self._write_lines(
            f"? [{number}] {lines[0]}",
            *lines[1:],
            f"  /confirm {number}{describe_missing(missing)} runs it, /reject {number} declines it{countdown}",
        )

    def _show_executed(self, frame: Frame) -> None:
        if "action" in frame:  # a call that its turn made by itself, and the turn goes on
            self._write_lines(f"= {describe_action(frame)}: {describe_outcome(frame['result'])}")
        else:
            self._settle_suggestion(frame, describe_outcome(frame["result"]))

    def _show_closed(self, frame: Frame) -> None:
        self._settle_suggestion(frame, CLOSED.get(frame["reason"], "closed"))

    def _settle_suggestion(self, frame: Frame, words: str) -> None:
        id = frame["suggestionId"]
        if id in self._live:
            self._live.remove(id)
        number = self._suggested.index(id) + 1 if id in self._suggested else "?"
        self._write_lines(f"= [{number}] {words}")
        self._note_end(frame)

    def _show_memory(self, frame: Frame) -> None:
        self._write_lines(*self._memory.describe_answer(frame))
        self._note_end(frame)

    def _show_error(self, frame: Frame) -> None:
        self._write_lines(f"! {printable_line(frame['message'])} ({printable_line(str(frame['code']))})")
        if frame["code"] != "internal":
            # After `internal` the server still refuses the message, which then ends.
            self._note_end(frame)

    def _note_end(self, frame: Frame) -> None:
        self._open.difference_update((frame.get("id"), frame.get("suggestionId")))
        if not self._open:
            self._none_open.set()

    def _write_lines(self, *lines: str) -> None:
        """Write whole lines, below a streamed text that is still on its line."""
        if self._midline:
            self._write("\n")
            self._midline = False
        for line in lines:
            self._write(line + "\n")

    _SHOW: ClassVar[dict[str, Callable[["TerminalChat", Frame], None]]] = {
        "stream": _show_delta,
        "stream_end": _show_stream_end,
        "response": _show_response,
        "action_suggestion": _show_suggestion,
        "action_executed": _show_executed,
        "action_closed": _show_closed,
        "memory": _show_memory,
        "memory_changed": _show_memory,
        "error": _show_error,
    }


def _parse_place(number: str, count: int) -> int | None:
    """Return the index that a typed number means, of `count` entries; `None` for an invalid number."""
    if not number.isdecimal() or len(number) > _DIGITS:
        return None
    return int(number) - 1 if 1 <= int(number) <= count else None


async def ask_once(
    client: Client, question: str, write: Write, complain: Write, lang: str | None = None
) -> int:
    """Ask one question, write the answer as it comes, its sources and the actions suggested; return the exit status.

    0 answered, 3 refused, 1 when there was no answer; `complain` gets one line with the reason.
    """
    id = await client.ask(question, lang=lang)
    while True:
        frame = await client.next_frame()
        kind = frame["type"]
        if frame.get("id", id) != id:
            continue
        if kind == "stream":
            write(describe_delta(frame))
        elif kind == "response":
            write("\n" + "".join(f"{line}\n" for line in describe_response(frame)))
            suggested = await _collect_suggestions(client)
            write("".join(f"{line}\n" for line in describe_suggestions(suggested)))
            return REFUSED if "blocked" in frame else ANSWERED
        elif kind == "error" and frame["code"] != "internal":
            complain(f"{printable_line(frame['message'])} ({printable_line(str(frame['code']))})\n")
            return FAILED
        elif kind == "stream_end" and frame["reason"] == "cancelled":
            complain("the server stopped the answer\n")
            return FAILED


async def _collect_suggestions(client: Client) -> list[Frame]:
    """Return the suggestions that the server sent with an answer; waits `LULL` seconds at most."""
    suggestions: list[Frame] = []
    with suppress(WireClosed), trio.move_on_after(LULL) as waiting:
        await client.ping()
        waiting.deadline = trio.current_time() + AT_HAND
        while True:
            frame = await client.next_frame()
            if frame["type"] == "action_suggestion":
                suggestions.append(frame)
    return suggestions
