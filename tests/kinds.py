"""A second kind of connection: stories that are told, without a suggestion or a memory."""

import msgspec

from agent.ports.brain import VerifiedText
from agent.protocol.frame_faults import CHECKS
from agent.protocol.inbound import Cancel
from agent.protocol.kinds import ConnectionKind
from agent.protocol.outbound import Error, Response, Stream, StreamEnd


class TaleText(VerifiedText):
    """A text that only a connection of the kind `TALE` may be sent."""


class Directive(msgspec.Struct, frozen=True, tag="message", tag_field="type"):
    """Ask for the next scene. It has the type of a conversation's message, and other fields."""

    id: str
    choice: int


class OpenTale(msgspec.Struct, frozen=True, tag="open_tale", tag_field="type"):
    """Open a tale; it is answered beside the turn."""

    tale: str
    id: str | None = None


class TaleOpened(msgspec.Struct, frozen=True, tag="tale", tag_field="type"):
    """Tell that a tale is open."""

    tale: str
    id: str | None = None


class TaleStored(msgspec.Struct, frozen=True, tag="tale_stored", tag_field="type"):
    """Tell that a part of a tale was stored."""

    scene: str


TALE = ConnectionKind(
    name="tale",
    title="Tale",
    paths=(b"/tale",),
    operations=("tellFromClient", "tellFromServer"),
    inbound=Directive | Cancel | OpenTale,
    outbound=Stream | StreamEnd | Response | Error | TaleStored | TaleOpened,
    checks={"message": (), "cancel": CHECKS["cancel"], "open_tale": ()},
    texts=(TaleText,),
    suggests=False,
)


def make_tale(words: str) -> TaleText:
    """Return a text that a `TALE` may be told."""
    return TaleText(text=words, citations=(), confidence=None)
