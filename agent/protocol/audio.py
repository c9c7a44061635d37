"""Defines the frames of a connection with voice, beside those of a conversation.

Audio travels in binary frames, both ways: PCM, 16-bit little-endian, mono, 16 kHz.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec

from .inbound import Inbound
from .outbound import Outbound
from .outbound_frame import OutboundFrame

VOICE_SUBPROTOCOL = "agent.voice.v1"
SHORTEST_FRAME, LONGEST_FRAME = 640, 3200  # bytes of a client's binary frame: 20 and 100 ms


class Listen(msgspec.Struct, frozen=True, tag="listen", tag_field="type", rename="camel"):
    """Begin to listen to the binary frames that follow, or stop: what was heard until then is taken as said.

    `echo_cancelled` says that the client takes the server's own voice out of its audio.
    """

    on: bool
    echo_cancelled: bool = False


class Played(msgspec.Struct, frozen=True, tag="played", tag_field="type"):
    """The client has played the audio of the `speech` frame `seq`, to its end."""

    seq: Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)]


class Heard(OutboundFrame, frozen=True, tag="heard", kw_only=True):
    """The words of the client's audio, as heard so far; with `final`, all of an utterance, which becomes the message
    `id`.
    """

    id: str
    text: str
    final: bool = False


class Speech(OutboundFrame, frozen=True, tag="speech", kw_only=True, rename={"start": "from", "end": "to"}):
    """The binary frames that follow say the characters `from` to `to` (exclusive) of the response to message `id`.

    `seq` counts these frames in a connection.
    """

    id: str
    seq: int
    start: int
    end: int


class SpeechEnd(OutboundFrame, frozen=True, tag="speech_end", kw_only=True):
    """No further audio is sent for message `id`.

    `reason` is `done` after its last word, `cancelled`, `slow` where the client took no audio for a second, or `failed`
    where the engine did; the text stands in each case.
    """

    id: str
    reason: Literal["done", "cancelled", "slow", "failed"]


VoiceInbound: TypeAlias = Inbound | Listen | Played
VoiceOutbound: TypeAlias = Outbound | Heard | Speech | SpeechEnd
