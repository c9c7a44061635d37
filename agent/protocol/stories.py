"""Defines the frames of a connection that reads and directs an interactive story."""

from typing import Annotated, TypeAlias

import msgspec

from ..config import MAX_ID, MAX_TEXT
from ..lang import Lang
from .inbound import Cancel, Consult, Inbound, Message
from .outbound import Error, Outbound, ProgressFrame, Response, Stream, StreamEnd, Welcome
from .outbound_frame import OutboundFrame

_Label: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID)]


class OpenStory(msgspec.Struct, frozen=True, tag="open_story", tag_field="type"):
    """Open a branch of a story; without `branch`, the one that was told last.

    The messages that follow its answer direct that branch. `id` is a label of the client's, which the answer repeats.
    """

    story: _Label
    branch: _Label | None = None
    id: _Label | None = None


class StoryMessage(msgspec.Struct, frozen=True, tag="message", tag_field="type", kw_only=True):
    """Direct the open branch, by exactly one of these. A new message cancels the one in progress.

    `text` alone is a directive for the next scene; `choice` is the id of an offered one. With `own` the text itself is
    the next scene, and no model is asked. `retell` is the id of the last scene, of which another version is told; its
    own directive stands. With `aside` the text is talk beside the story, which no scene's prompt has. A `choice` or a
    `retell` needs no text.
    """

    id: _Label
    text: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    lang: Lang | None = None
    choice: _Label | None = None
    retell: _Label | None = None
    own: bool = False
    aside: bool = False

    def __post_init__(self) -> None:
        """Raise `ValueError` for two ways to direct at once, or for a directive without words."""
        ways = (self.choice is not None) + (self.retell is not None) + self.own + self.aside
        if ways > 1 or not (self.text or self.choice or self.retell):
            raise ValueError("a message directs a story by one thing")


class StoryChoice(msgspec.Struct, frozen=True):
    """A direction that a scene offers."""

    id: str
    text: str


class StoryFrame(OutboundFrame, frozen=True, tag="story", kw_only=True):
    """The branch that is open from here on. `seq` counts its scenes. `scene` is the id of the last one, `version` that
    of its active version, and `choices` the directions that it offers.
    """

    story: str
    branch: str
    name: str
    seq: int
    scene: str | None = None
    version: str | None = None
    choices: tuple[StoryChoice, ...] = ()
    id: str | None = None


class SceneStored(OutboundFrame, frozen=True, tag="scene_stored", kw_only=True):
    """The scene that a message led to is on disk, exactly as it was told. `id` is that message."""

    id: str
    scene: str
    version: str
    branch: str
    seq: int


class ChoicesFrame(OutboundFrame, frozen=True, tag="choices", kw_only=True):
    """The directions that a scene offers."""

    scene: str
    choices: tuple[StoryChoice, ...]


class PlotFrame(OutboundFrame, frozen=True, tag="plot", kw_only=True):
    """The milestones of the chapter, by their numbers, that came about in a scene."""

    scene: str
    chapter: str
    met: tuple[int, ...]


StoryInbound: TypeAlias = OpenStory | StoryMessage | Cancel
StoryOutbound: TypeAlias = (
    StoryFrame
    | Stream
    | ProgressFrame
    | StreamEnd
    | Response
    | SceneStored
    | ChoicesFrame
    | PlotFrame
    | Error
    | Welcome
)

StoryConsult: TypeAlias = OpenStory
"""The requests that are answered beside the turn."""
AnyInbound: TypeAlias = Inbound | StoryInbound
AnyOutbound: TypeAlias = Outbound | StoryOutbound
AnyConsult: TypeAlias = Consult | StoryConsult
AnyMessage: TypeAlias = Message | StoryMessage
"""The frames of all kinds of connections."""
