"""A reader at a terminal directs a story: `agent story play`.

`StoryTerminal` knows frames and lines and nothing of terminals. A line is a directive; a number alone takes one of the
offered choices, for which it waits. A line that is typed while a scene is told waits until the scene is stored, and
Ctrl-C stops the scene. The server's texts are cleaned before they are shown.
"""

from collections.abc import AsyncIterator, Callable

import trio

from ..text.terminal import printable, printable_line
from .client import Client, Frame
from .terminal_session import run_session

HELP = """\
Type what should happen next, or the number of a choice. /retell tells the
last scene otherwise, /own TEXT adds a scene of your own, /aside TEXT talks
beside the story. Ctrl-C stops a scene, Ctrl-C twice or /quit leaves."""
CHOICES_WITHIN = 15.0  # seconds after a scene: a server writes its choices within these, or none


class StoryTerminal:
    """One branch of a story on a terminal. `write` shows text to the reader."""

    def __init__(self, client: Client, write: Callable[[str], None]) -> None:
        self._client = client
        self._write = write
        self._idle = trio.Event()  # set while no message is open
        self._idle.set()
        self._sent = 0
        self._is_aside = False  # the message that was sent last
        self._scene = ""
        self._choices: list[str] = []
        self._offered = trio.Event()  # set unless choices may still come
        self._offered.set()

    async def open_story(self, story: str, branch: str | None) -> str:
        """Open a branch; return why it cannot be opened, "" when it is open. Raises `WireClosed`."""
        await self._client.send({"type": "open_story", "story": story, "branch": branch, "id": "open"})
        frame = await self._client.next_frame()
        while frame.get("id") != "open":
            frame = await self._client.next_frame()
        if frame["type"] == "error":
            return str(frame["message"])
        self._scene = str(frame.get("scene") or "")
        self._write(printable_line(f"{frame['name']}, {frame['seq']} scenes so far") + "\n")
        self._show_choices(frame)
        return ""

    async def run(self, lines: AsyncIterator[str], interrupts: AsyncIterator[object]) -> int:
        """Direct the story by `lines` until they end or the reader leaves (0), or the connection ends (1)."""
        return await run_session(
            self._client,
            lines,
            interrupts,
            show=self._show,
            write_line=self._write_line,
            run_line=self._run_line,
            stop=self._stop,
            finish=self._finish,
        )

    async def _stop(self) -> None:
        """Cancel the scene or the answer in progress."""
        if not self._idle.is_set():
            await self._client.cancel()

    async def _finish(self) -> None:
        """Wait for the last scene, and for its choices."""
        await self._idle.wait()
        await self._wait_for_choices()

    async def _run_line(self, line: str) -> bool:
        """Direct the story by a line, after the message before it; return whether `/quit` leaves the story."""
        await self._idle.wait()
        if line == "/quit":
            return True
        if line.isascii() and line.isdigit():
            await self._choose(line)
        else:
            await self._direct(line)
        return False

    async def _choose(self, number: str) -> None:
        """Take the choice with a number, once choices have come; a number alone is never a directive."""
        if not self._offered.is_set():
            self._write_line("(the choices are being written)")
            await self._wait_for_choices()
        place = int(number[:6])
        if 0 < place <= len(self._choices):
            await self._send({"choice": self._choices[place - 1]})
        elif self._choices:
            self._write_line(
                f"! there is no choice {place}: type 1 to {len(self._choices)}, or what happens next"
            )
        else:
            self._write_line(f"! no choices are offered, so {place} is none: type what happens next")

    async def _wait_for_choices(self) -> None:
        with trio.move_on_after(CHOICES_WITHIN):
            await self._offered.wait()

    async def _direct(self, line: str) -> None:
        """Send the message that a line stands for."""
        command, _, rest = line.partition(" ")
        fields: Frame = {"text": line}
        if command == "/retell":
            fields = {"retell": self._scene}
        elif command in ("/own", "/aside"):
            fields = {"text": rest.strip(), command[1:]: True}
        elif command.startswith("/"):
            self._write_line(HELP)
            return
        await self._send(fields)

    async def _send(self, fields: Frame) -> None:
        self._sent += 1
        self._is_aside = "aside" in fields
        self._idle = trio.Event()
        await self._client.send({"type": "message", "id": str(self._sent), **fields})

    def _show(self, frame: Frame) -> None:
        kind = frame["type"]
        is_last = frame.get("id") == str(self._sent)  # an answer to the message that was sent last
        if kind == "stream":
            self._write(printable(str(frame["delta"])))
        elif kind == "stream_end":
            self._write("\n")
            if frame["reason"] == "cancelled" and is_last:
                self._idle.set()
        elif kind == "response" and is_last:
            if "blocked" in frame or self._is_aside:
                self._idle.set()
        elif kind == "scene_stored":
            self._scene = str(frame["scene"])
            self._choices = []
            self._offered = trio.Event()
            self._idle.set()
        elif kind == "choices":
            self._show_choices(frame)
            self._offered.set()
        elif kind == "error":
            self._write_line(f"! {printable_line(str(frame['message']))}")
            self._idle.set()

    def _write_line(self, line: str) -> None:
        self._write(f"{line}\n")

    def _show_choices(self, frame: Frame) -> None:
        choices = frame.get("choices", [])
        self._choices = [str(each["id"]) for each in choices]
        for place, each in enumerate(choices, start=1):
            self._write(printable_line(f"  {place}. {each['text']}") + "\n")
