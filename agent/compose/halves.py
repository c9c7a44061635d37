"""Runs the halves of voice, which have no session, among the sessions of a server."""

from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from ..errors import WireClosed
from ..server.websocket import GOING_DOWN, Connection
from ..session.context import SessionContext
from ..session.events import DrainStarted, Event, KillRequested

if TYPE_CHECKING:
    from ..voice.halves import VoiceHalf
    from ..voice.wing import VoiceWing


class HalfMember:
    """A half of voice as the registry sees it (implements `agent.session.registry.RegistryMember`)."""

    def __init__(self, half: "VoiceHalf") -> None:
        self._half = half
        self._pinged_at: float | None = None

    def post(self, event: Event) -> None:
        """End the connection with the server."""
        if isinstance(event, DrainStarted):
            self._half.close(GOING_DOWN, "going down")
        elif isinstance(event, KillRequested):
            self._half.close(event.code, event.reason)

    def keepalive(self) -> None:
        """Ping the client, or end the connection when nothing was heard since the last ping."""
        wire = self._half.connection
        if self._pinged_at is not None and wire.received_at < self._pinged_at:
            self._half.close(1011, "keepalive lost")
            return
        self._pinged_at = trio.current_time()
        wire.ping()


async def run_half(parts: SessionContext, connection: Connection, voice: "VoiceWing") -> None:
    """Run a half of voice until its end. `parts`: those of conversations."""
    half = voice.make_half(connection.kind, connection, parts.pulse)
    member = HalfMember(half)
    parts.registry.add(member)
    try:
        if parts.registry.draining:
            member.post(DrainStarted(trio.current_time()))
        with suppress(WireClosed):
            await half.run()
    finally:
        parts.registry.remove(member)
