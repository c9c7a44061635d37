"""The way from the recorder of an answered question back to its session, which may have ended since."""

from collections.abc import Sequence
from typing import Protocol
from weakref import ref

import trio

from ..ports.brain import Proposal, Question
from ..protocol.outbound import Outbound
from .events import Event, KeeperReported


class ReachableSession(Protocol):
    """The session at the other end."""

    def post(self, event: Event) -> None:
        """Handle an event."""
        ...

    def offer(self, question: Question, proposal: Proposal) -> None:
        """Suggest a proposal to which `question` led."""
        ...


class SessionReturnPath:
    """Reaches a session that still exists, by a weak reference (implements `agent.ports.remember.ReturnPath`)."""

    __slots__ = ("_session",)

    def __init__(self, session: ReachableSession) -> None:
        self._session = ref(session)

    def offer(self, question: Question, proposal: Proposal) -> None:
        """Suggest a proposal."""
        session = self._session()
        if session is not None:
            session.offer(question, proposal)

    def send_frames(self, frames: Sequence[Outbound]) -> None:
        """Send frames."""
        session = self._session()
        if session is not None:
            session.post(KeeperReported(frames, trio.current_time()))
