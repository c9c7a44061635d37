"""Defines the frames of the halves of voice, which have no session: audio in and words out, and text in and audio out.

Audio is as in `agent.protocol.audio`.
"""

from typing import Annotated, TypeAlias

import msgspec

from ..config import MAX_ID, MAX_TEXT
from ..lang import Lang
from .audio import Heard, Listen, Played, Speech, SpeechEnd
from .inbound import Cancel
from .outbound import Error
from .outbound_frame import OutboundFrame


class Say(msgspec.Struct, frozen=True, tag="say", tag_field="type", kw_only=True):
    """Say a text, as it is written; a newer one ends it. `lang`: of a text that does not show its language."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
    lang: Lang | None = None


class HearingWelcome(OutboundFrame, frozen=True, tag="welcome", kw_only=True):
    """First frame. `vouched` is false: nothing vouches for the words that are heard, as `message` says.

    `hears` lists the languages.
    """

    vouched: bool
    message: str
    hears: tuple[Lang, ...]


class SpeakingWelcome(OutboundFrame, frozen=True, tag="welcome", kw_only=True):
    """First frame. `vouched` is false: nothing vouches for the texts that are said, as `message` says.

    `speaks` lists the languages.
    """

    vouched: bool
    message: str
    speaks: tuple[Lang, ...]


HearingInbound: TypeAlias = Listen
HearingOutbound: TypeAlias = HearingWelcome | Heard | Error
SpeakingInbound: TypeAlias = Say | Cancel | Played
SpeakingOutbound: TypeAlias = SpeakingWelcome | Speech | SpeechEnd | Error
HalfOutbound: TypeAlias = HearingOutbound | SpeakingOutbound
