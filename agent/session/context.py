"""The services and settings that the sessions of one server share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..config import MAX_FRAME, MAX_TEXT
from ..errors import BadTool
from ..lang import DEFAULT, Lang
from ..ports.action import ActionRunner
from ..ports.brain import Brain
from ..ports.clock import Clock
from ..ports.consult import Consultant
from ..ports.feedback import FeedbackAccess
from ..ports.observe import Observer
from ..ports.remember import NO_RECORDER, MemoryAccess, Recorder
from ..ports.tools import ReadTools, ToolDefinition
from ..ports.tracing import Tracer
from ..protocol.kinds import CONVERSATION, ConnectionKind
from ..protocol.outbound import Limits, VoiceAbilities
from ..wire.pulse import Pulse
from .registry import Registry
from .settings import LIVE_SUGGESTIONS, QUEUED_MESSAGES, SessionSettings


def refuse_tools(given: Sequence[Mapping[str, Any]]) -> tuple[ToolDefinition, ...]:
    """Raise `BadTool` for any tools of a message."""
    raise BadTool("This server takes no tools; send the message without them.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """The services and settings that the sessions of one server share.

    `new_id`: returns an unguessable id at each call. `lang`: of a refusal when a question's own language is unknown.
    `project`: the project of the sessions' scopes. `read_tools`: parses the tools of a message. `recorder`: records
    exchanges. `memory`: knows the forgotten messages; `None` where there is no memory. `consultant`: answers clients'
    requests beside the turn, such as those to the memory; `None` where nothing does. `feedback`: stores clients'
    feedback; `None` where nothing does. `tracer`: makes the spans of turns; `None` where nothing traces. `kind`: of
    their connections. `voice`: the abilities of connections with voice; `None` on all others.
    """

    settings: SessionSettings
    brain: Brain
    runner: ActionRunner
    registry: Registry
    pulse: Pulse
    clock: Clock
    observer: Observer
    new_id: Callable[[], str]
    lang: Lang = DEFAULT
    project: str = ""
    read_tools: ReadTools = refuse_tools
    recorder: Recorder = NO_RECORDER
    memory: MemoryAccess | None = None
    feedback: FeedbackAccess | None = None
    tracer: Tracer | None = None
    consultant: Consultant | None = None
    kind: ConnectionKind = CONVERSATION
    voice: VoiceAbilities | None = None

    @property
    def limits(self) -> Limits:
        """The limits of each session, as its `welcome` tells them."""
        return Limits(
            max_frame=MAX_FRAME,
            max_text=MAX_TEXT,
            queued_messages=QUEUED_MESSAGES,
            live_suggestions=LIVE_SUGGESTIONS,
            confirm_seconds=self.settings.confirm_time,
            rate_limit=self.settings.rate_limit,
        )
