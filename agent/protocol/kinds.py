"""Lists the kinds of connections: the frames, the texts and the actions of each; pure.

The path of an upgrade fixes the kind of its connection. The decoder of frames, the session and the AsyncAPI document
are all made from the kind, so none of them knows a frame that another does not. Each kind has a channel of its own in
the document.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..ports.brain import FictionText, VerifiedText
from .frame_faults import CHECKS, Check
from .inbound import Inbound
from .outbound import Outbound
from .stories import StoryInbound, StoryOutbound
from .story_faults import STORY_CHECKS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConnectionKind:
    """A kind of connection.

    `name`, `title`: of its channel. `paths`: of its upgrades; the last is the channel's address. `operations`: the
    names of the channel's operations, for the client's frames and for the server's. `inbound`, `outbound`: the unions
    of the frames that its client and the server may send. `checks`: find the fault of a frame, by the frame's type.
    `texts`: the types of verified text that may be sent. `suggests`: whether actions may be suggested and tools called.
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
KINDS: tuple[ConnectionKind, ...] = (CONVERSATION, STORY)
KIND_OF_PATH: Mapping[bytes, ConnectionKind] = {path: kind for kind in KINDS for path in kind.paths}
