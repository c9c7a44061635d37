"""What one request for validated calls asks for, fixed before the first round; pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from ..errors import AgentError
from ..ports.model import Choice, Message, Named, Tool
from .outcome import Doc
from .pointer import Json
from .schema import Shape


class BadRequest(AgentError):
    """The request cannot work whatever a model answers; the message says why."""


@dataclass(frozen=True, slots=True)
class Names:
    """What our own tools are called; none is the name of a caller's tool."""

    repair: str = "repair"
    rename: str = "rename"
    edit: str = "edit"
    remove: str = "remove"

    @classmethod
    def free_of(cls, taken: Collection[str]) -> "Names":
        """Return names that are not taken, as near to the usual ones as can be."""
        found = []
        for name in ("repair", "rename", "edit", "remove"):
            while name in taken:
                name += "_"
            found.append(name)
        return cls(*found)


@dataclass(frozen=True, slots=True)
class Held:
    """A document that exists: its JSON beside what was given."""

    doc: Doc
    shape: Shape
    document: Json


class Plan(msgspec.Struct, frozen=True):
    """What is asked. shapes: every tool; allowed: those that may be called, in an update to insert.

    tools: those of the first round. bare: the only tool that can be meant where an object in a text names none.
    native: the model is offered tools; else it is asked for JSON in its text.
    """

    messages: tuple[Message, ...]
    shapes: Mapping[str, Shape]
    allowed: Collection[str]
    tools: tuple[Tool, ...]
    names: Names
    choice: Choice | Named = Choice.REQUIRED
    bare: str | None = None
    native: bool = True
    max_attempts: int = 3
    max_tokens: int = 1024
    held: Mapping[str, Held] = {}
    edits: bool = False
    deletes: bool = False


def held(docs: Mapping[str, Doc], shapes: Mapping[str, Shape]) -> dict[str, Held]:
    """Return the documents that exist as JSON. Raises `BadRequest`."""
    found = {}
    for name, doc in docs.items():
        if doc.name not in shapes:
            raise BadRequest(f"document {name} is of {doc.name}, which is no tool")
        try:
            document = msgspec.json.decode(msgspec.json.encode(doc.value))
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise BadRequest(f"document {name} is not JSON ({type(error).__name__})") from None
        found[name] = Held(doc, shapes[doc.name], document)
    return found


def allowed_by(choice: Choice | Named, offered: Collection[str]) -> tuple[str, ...]:
    """Return what may be called. Raises `BadRequest` where that is nothing."""
    if choice is Choice.NONE or not offered:
        raise BadRequest("nothing is enabled that a model could call")
    if isinstance(choice, Named):
        if choice.name not in offered:
            raise BadRequest(f"the chosen tool {choice.name} is not offered")
        return (choice.name,)
    return tuple(offered)
