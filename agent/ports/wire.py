"""One client's connection, as the session sees it."""

from typing import Protocol


class Wire(Protocol):
    """A framed connection. One task receives; one task, the writer, sends."""

    @property
    def heard_at(self) -> float:
        """When bytes last came from the client, in seconds on the loop's clock."""
        ...

    def frame(self, text: bytes) -> bytes:
        """Return one whole text message (UTF-8 `text`) as the bytes that `send` takes."""
        ...

    async def receive(self) -> str | bytes:
        """Return the next whole message (text or binary); raises `agent.errors.WireClosed` when there is none."""
        ...

    async def send(self, frames: bytes) -> None:
        """Hand whole frames to the stream; raises `agent.errors.WireClosed`. Cancelled, it may leave half a frame."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Queue a close frame and wait for the client's; the caller sets the deadline."""
        ...

    def ping(self) -> None:
        """Queue a ping; its answer shows in `heard_at`."""
        ...

    def abort(self) -> None:
        """Drop the connection at once, without a close frame. Idempotent, never blocks."""
        ...
