"""A reader at a terminal directs a story: `agent story play`.

`StoryTerminal` knows frames and lines and nothing of terminals. A line is a directive; a number alone takes one of the
offered choices. A line that is typed while a scene is told waits until the scene is stored, and Ctrl-C stops the scene.
The server's texts are cleaned before they are shown.
"""

from collections.abc import AsyncIterator, Callable

import trio

from ..errors import WireClosed
from ..text.terminal import printable, printable_line
from .client import Client, Frame
from .descriptions import describe_close

HELP = """\
Type what should happen next, or the number of a choice. /retell tells the
last scene otherwise, /own TEXT adds a scene of your own, /aside TEXT talks
beside the story. Ctrl-C stops a scene, Ctrl-C twice or /quit leaves."""
TWICE = 2.0  # seconds within which a second Ctrl-C leaves

PLAYED, BROKEN = 0, 1  # exit statuses


class StoryTerminal:
    """One branch of a story on a terminal. `write` shows text to the reader."""

    def __init__(self, client: Client, write: Callable[[str], None]) -> None:
        self._client = client
        self._write = write
        self._scope = trio.CancelScope()
        self._idle = trio.Event()  # set while no message is open
        self._idle.set()
        self._sent = 0
        self._is_aside = False  # the message that was sent last
        self._scene = ""
        self._choices: list[str] = []

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
        status = PLAYED

        async def show_frames() -> None:
            nonlocal status
            try:
                while True:
                    self._show(await self._client.next_frame())
            except WireClosed as closed:
                status = BROKEN
                self._write(f"! {describe_close(closed.code)}\n")
            self._scope.cancel()

        async def stop_scenes() -> None:
            last = -TWICE
            async for _ in interrupts:
                if trio.current_time() - last < TWICE:
                    self._scope.cancel()
                    return
                last = trio.current_time()
                self._write("\n(Ctrl-C again leaves)\n")
                await self._client.cancel()

        with self._scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(show_frames)
                nursery.start_soon(stop_scenes)
                async for line in lines:
                    await self._idle.wait()
                    if line.strip() == "/quit":
                        break
                    if line.strip():
                        await self._direct(line.strip())
                await self._idle.wait()
                self._scope.cancel()
        return status

    async def _direct(self, line: str) -> None:
        """Send the message that a line stands for."""
        command, _, rest = line.partition(" ")
        fields: Frame = {"text": line}
        if command == "/retell":
            fields = {"retell": self._scene}
        elif command in ("/own", "/aside"):
            fields = {"text": rest.strip(), command[1:]: True}
        elif command.startswith("/"):
            self._write(f"{HELP}\n")
            return
        elif line.isascii() and line.isdigit() and 0 < int(line[:6]) <= len(self._choices):
            fields = {"choice": self._choices[int(line[:6]) - 1]}
        self._sent += 1
        self._is_aside = command == "/aside"
        self._idle = trio.Event()
        await self._client.send({"type": "message", "id": str(self._sent), **fields})

    def _show(self, frame: Frame) -> None:
        kind = frame["type"]
        if kind == "stream":
            self._write(printable(str(frame["delta"])))
        elif kind == "stream_end":
            self._write("\n")
            if frame["reason"] == "cancelled":
                self._idle.set()
        elif kind == "response":
            if "blocked" in frame or self._is_aside:
                self._idle.set()
        elif kind == "scene_stored":
            self._scene = str(frame["scene"])
            self._choices = []
            self._idle.set()
        elif kind == "choices":
            self._show_choices(frame)
        elif kind == "error":
            self._write(printable_line(f"! {frame['message']}") + "\n")
            self._idle.set()

    def _show_choices(self, frame: Frame) -> None:
        choices = frame.get("choices", [])
        self._choices = [str(each["id"]) for each in choices]
        for place, each in enumerate(choices, start=1):
            self._write(printable_line(f"  {place}. {each['text']}") + "\n")
