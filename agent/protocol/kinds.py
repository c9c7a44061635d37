"""Lists the kinds of connections: the frames, the texts and the actions of each; pure.

The path of an upgrade, and the subprotocol that the server confirms, fix the kind of its connection. The decoder of
frames, the session and the AsyncAPI document are all made from the kind, so none of them knows a frame that another
does not. Each kind has a channel of its own in the document.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import msgspec

from ..ports.brain import FictionText, UnvouchedText, VerifiedText
from .audio import VOICE_SUBPROTOCOL, VoiceInbound, VoiceOutbound
from .frame_faults import CHECKS, HEARING_CHECKS, SPEAKING_CHECKS, VOICE_CHECKS, Check
from .halves import HearingInbound, HearingOutbound, SpeakingInbound, SpeakingOutbound
from .inbound import Inbound
from .outbound import Outbound
from .stories import StoryInbound, StoryOutbound
from .story_faults import STORY_CHECKS

SUBPROTOCOL = "agent.v1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConnectionKind:
    """A kind of connection.

    `name`, `title`: of its channel. `paths`: of its upgrades; the last is the channel's address. `operations`: the
    names of the channel's operations, for the client's frames and for the server's. `inbound`, `outbound`: the unions
    of the frames that its client and the server may send. `checks`: find the fault of a frame, by the frame's type.
    `texts`: the types of verified text that may be sent. `suggests`: whether actions may be suggested and tools called.
    `subprotocol`: greets a client that offers it. `takes_audio`, `sends_audio`: whether binary frames of the client,
    and of the server, carry audio. `asks`: the type of the frames that count for the rate of an address. `is_half`:
    whether it is a half of voice, without a session: for the operator alone, and only where the server serves it.
    """

    name: str
    title: str
    paths: tuple[bytes, ...]
    operations: tuple[str, str]
    inbound: Any
    outbound: Any
    checks: Mapping[str, tuple[Check, ...]]
    texts: tuple[type[VerifiedText], ...]
    suggests: bool
    subprotocol: str = SUBPROTOCOL
    takes_audio: bool = False
    sends_audio: bool = False
    asks: str = "message"
    is_half: bool = False
    decoder: "msgspec.json.Decoder[Any]" = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the decoder of the client's frames."""
        object.__setattr__(self, "decoder", msgspec.json.Decoder(self.inbound, strict=True))


CONVERSATION = ConnectionKind(
    name="session",
    title="Session",
    paths=(b"/", b"/ws"),
    operations=("fromClient", "fromServer"),
    inbound=Inbound,
    outbound=Outbound,
    checks=CHECKS,
    texts=(VerifiedText,),
    suggests=True,
)
STORY = ConnectionKind(
    name="story",
    title="Story",
    paths=(b"/story",),
    operations=("fromReader", "toReader"),
    inbound=StoryInbound,
    outbound=StoryOutbound,
    checks=STORY_CHECKS,
    texts=(FictionText,),
    suggests=False,
)
VOICE = ConnectionKind(
    name="voice",
    title="Session with voice",
    paths=CONVERSATION.paths,
    operations=("fromSpeaker", "toListener"),
    inbound=VoiceInbound,
    outbound=VoiceOutbound,
    checks=VOICE_CHECKS,
    texts=CONVERSATION.texts,
    suggests=True,
    subprotocol=VOICE_SUBPROTOCOL,
    takes_audio=True,
    sends_audio=True,
)
HEARING = ConnectionKind(
    name="stt",
    title="Audio to text",
    paths=(b"/ws/stt",),
    operations=("fromTalker", "toTalker"),
    inbound=HearingInbound,
    outbound=HearingOutbound,
    checks=HEARING_CHECKS,
    texts=(),
    suggests=False,
    takes_audio=True,
    asks="listen",
    is_half=True,
)
SPEAKING = ConnectionKind(
    name="tts",
    title="Text to audio",
    paths=(b"/ws/tts",),
    operations=("fromAuthor", "toAuthor"),
    inbound=SpeakingInbound,
    outbound=SpeakingOutbound,
    checks=SPEAKING_CHECKS,
    texts=(UnvouchedText,),
    suggests=False,
    sends_audio=True,
    asks="say",
    is_half=True,
)
KINDS: tuple[ConnectionKind, ...] = (CONVERSATION, STORY, VOICE, HEARING, SPEAKING)
KIND_OF_PATH: Mapping[bytes, ConnectionKind] = {
    path: kind for kind in KINDS if kind.subprotocol == SUBPROTOCOL for path in kind.paths
}
"""The kind of a connection by its path, where the client offers no voice or the server has none."""


def list_frames(union: Any) -> tuple[type[msgspec.Struct], ...]:
    """Return the frames of a union, as `ConnectionKind` has it; a lone frame is its own."""
    return get_args(union) or (union,)


def choose_kind(path: bytes, offered: Collection[str], has_voice: bool) -> ConnectionKind:
    """Return the kind of a connection to `path`, of a client that has `offered` these subprotocols.

    `has_voice`: whether the server speaks or hears.
    """
    kind = KIND_OF_PATH[path]
    return VOICE if has_voice and kind is CONVERSATION and VOICE_SUBPROTOCOL in offered else kind
