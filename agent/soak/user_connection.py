"""One connection of a random user: the frames that it sends, its waits, and its account of the server's frames.

Every wait has a deadline, and a deadline that passes is a broken invariant: a server that owes an end and says nothing
hangs its client.
"""

from collections.abc import Callable, Mapping
from typing import Any

import trio

from ..config import HEAD_TIMEOUT
from .account import Account
from .book import Book
from .scene import Scene
from .wire import ClientSocket, Frame, Leaving

# Seconds in which every request must have ended: a message may wait for two actions at their deadlines.
PATIENCE = 40.0
SPEECH_SOON = 3.0  # seconds in which the speech of most answers has begun
HANG_UP = 8.0  # seconds in which a server that was left must hang up too
# A frame sent within these seconds before a server hung up may have crossed its close; or within twice the longest
# that a cancel has taken, since on a crowded machine each way takes its time.
CROSSING = 1.0
GOING_DOWN = 1012  # the close code of a server that drains
ANONYMOUS = 0  # the number of a user that has none


class UserConnection:
    """A connection and its account. `book`: that of the user; without it the connection has one of its own.

    Methods that send raise `WireClosed`. Cancelled, a frame may have been sent.
    """

    def __init__(self, name: str, socket: ClientSocket, scene: Scene, book: Book | None = None) -> None:
        self.book = book or Book(name, ANONYMOUS, scene.run, scene.tally, scene.note)
        self.account = Account(name, scene.tally, scene.note, scene.pages, self.book)
        self._name = name
        self._socket = socket
        self._scene = scene
        self._tally = scene.tally
        self._patience = PATIENCE * scene.target.slower
        self._messages = 0
        self._news = trio.Event()

    async def read(self) -> None:
        """Read until the connection ends; a server that ends it first has broken a promise."""
        while (frame := await self._socket.next_frame()) is not None:
            self.account.check_frame(frame, trio.current_time())
            self._news.set()
        if self._socket.left is None:
            self._judge_hang_up()
        self._news.set()

    def _judge_hang_up(self) -> None:
        """Judge a server that has ended the connection first: only one that goes down may, and only cleanly.

        A server that is too busy for a handshake within its own time limit gives it up, which is counted apart.
        """
        slowest = 2 * self._tally.cancels.longest
        if self._scene.drain.is_set() and self._socket.code == GOING_DOWN:
            self._tally.count("hung up on by a draining server")
            self.account.check_cut_off(
                trio.current_time() - max(CROSSING * self._scene.target.slower, slowest)
            )
        elif self._socket.code is None and not self.account.has_heard and slowest > HEAD_TIMEOUT:
            self._tally.count("handshakes given up by a slow server")
        else:
            self._tally.violation("S7", f"{self._name}: the server hung up with {self._socket.code}")

    async def send_message(self, text: str, number: str = "") -> str:
        """Send a message and return its id. `number`: as in `Account.enter_message`."""
        self._messages += 1
        id = str(self._messages)
        self.account.enter_message(id, trio.current_time(), number)
        await self._socket.send("message", id=id, text=text)
        return id

    async def send_cancel(self, id: str | None = None) -> None:
        """Cancel everything, or the consequences of one message."""
        self.account.enter_cancel(trio.current_time(), id)
        await self._socket.send("cancel", **({} if id is None else {"id": id}))

    async def send_confirm(self, suggestion: str, filled: Mapping[str, str] | None = None) -> None:
        """Confirm a suggestion. `filled`: its missing fields."""
        self.account.suggestions.enter_confirm(suggestion, trio.current_time(), filled)
        payload = {"payload": filled} if filled else {}
        await self._socket.send("confirm_action", suggestionId=suggestion, **payload)

    async def send_reject(self, suggestion: str) -> None:
        """Reject a suggestion."""
        self.account.suggestions.enter_reject(suggestion)
        await self._socket.send("reject_action", suggestionId=suggestion)

    async def send_memory_request(self, kind: str, **fields: Any) -> str:
        """Send a request about the memory; return its label."""
        label = self.account.consults.ask(kind, trio.current_time(), **fields)
        await self._socket.send(kind, id=label, **fields)
        return label

    async def send_listen(self, on: bool) -> None:
        """Ask to be heard, or no longer."""
        await self._socket.send("listen", on=on, echoCancelled=True)

    async def send_audio(self, pcm: bytes) -> None:
        """Send a frame of audio."""
        speeches = self.account.speeches
        speeches.is_heard_due = speeches.is_heard_due or any(pcm)
        await self._socket.send_audio(pcm)

    async def send_played(self) -> None:
        """Tell that all audio so far was played."""
        await self._socket.send("played", seq=self.account.speeches.seq)

    async def wait_for_heard(self) -> None:
        """Wait for the final of what was said."""
        await self._wait_while(lambda: self.account.speeches.is_heard_due, "what was said is not heard")

    async def wait_for_speech(self) -> None:
        """Wait for the speech of an answer, for a moment: of a turn that is cancelled none comes."""
        with trio.move_on_after(SPEECH_SOON):
            await self._wait_while(lambda: self.account.speeches.live is None, "")

    async def wait_for_silence(self) -> None:
        """Wait until no speech is in progress."""
        await self._wait_while(lambda: self.account.speeches.live is not None, "a speech has no end")

    async def _wait_while(self, is_so: Callable[[], bool], fault: str) -> None:
        with trio.move_on_after(self._patience):
            while is_so() and not self._socket.over.is_set():
                await self._wait_for_frame(self._patience)
            return
        self._tally.violation("V2", f"{self._name}: {fault} in {self._patience:g} s")

    async def wait_for_answer(self, label: str) -> Frame | None:
        """Return the answer to the memory request `label`, or `None` where the connection ends before."""
        with trio.move_on_after(self._patience):
            while not self._socket.over.is_set():
                frame = self.account.consults.take(label)
                if frame is not None:
                    return frame
                await self._wait_for_frame(self._patience)
            return None
        self._tally.violation("M7", f"{self._name}: {label} was not answered in {self._patience:g} s")
        return None

    async def wait_for_end(self, id: str) -> None:
        """Wait until a message has ended, with its response and suggestions."""
        with trio.move_on_after(self._patience):
            while self.account.messages[id].end is None and not self._socket.over.is_set():
                await self._wait_for_frame(self._patience)
            return
        self._tally.violation("S1", f"{self._name}: {id} has not ended in {self._patience:g} s")

    async def catch_up(self) -> None:
        """Wait for the answer to a ping: frames that were on their way come before it."""
        await self._socket.ping()

    async def wait(self, seconds: float) -> None:
        """Do nothing for a while, or until the connection ends."""
        with trio.move_on_after(seconds):
            await self._socket.over.wait()

    async def settle(self) -> None:
        """Cancel and wait until nothing is in progress or live, then check that no frame is owed."""
        with trio.move_on_after(self._patience):
            await self.catch_up()
            while self.account.is_waiting or self.account.suggestions.list_live():
                if not self.account.is_waiting:
                    await self.send_cancel()  # it closes the suggestions that can still be confirmed
                await self._wait_for_frame(0.5)
                await self.catch_up()
        self.account.check_settled()

    async def leave(self, how: Leaving) -> None:
        """Leave, and check that the server hangs up where this end can see it."""
        self._tally.count(f"left by {how}")
        await self._socket.leave(how)
        with trio.move_on_after(HANG_UP * self._scene.target.slower) as waiting:
            await self._socket.over.wait()
        if waiting.cancelled_caught:
            self._tally.violation("S6", f"{self._name}: the server did not hang up after {how}")

    async def _wait_for_frame(self, timeout: float) -> None:
        self._news = trio.Event()
        with trio.move_on_after(timeout):
            await self._news.wait()
