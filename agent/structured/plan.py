"""The plan of one request for valid calls, fixed before the first round; pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from ..errors import AgentError
from ..ports.model import ModelMessage, NamedTool, Tool, ToolChoice
from .outcome import Doc
from .pointer import Json
from .schema import ToolShape


class ImpossibleRequest(AgentError):
    """The request cannot work with any answer of a model; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class OwnToolNames:
    """The names of our own tools; none is the name of a caller's tool."""

    repair: str = "repair"
    rename: str = "rename"
    edit: str = "edit"
    remove: str = "remove"

    @classmethod
    def choose_free(cls, taken: Collection[str]) -> "OwnToolNames":
        """Return names that are not in `taken`, as near to the usual ones as possible."""
        names = []
        for name in ("repair", "rename", "edit", "remove"):
            while name in taken:
                name += "_"
            names.append(name)
        return cls(*names)


@dataclass(frozen=True, slots=True)
class ExistingDocument:
    """A document of an update: the given `Doc` with its tool and its JSON."""

    doc: Doc
    shape: ToolShape
    document: Json


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a request.

    `shapes`: every tool. `allowed`: names of the tools that may be called, in an update to insert. `tools`: of the
    first round. `bare`: the only tool that can be meant where an object in a text names no tool. `native`: the model is
    offered tools; otherwise it is asked for JSON in its text. `held`: the documents of an update.
    """

    messages: tuple[ModelMessage, ...]
    shapes: Mapping[str, ToolShape]
    allowed: Collection[str]
    tools: tuple[Tool, ...]
    names: OwnToolNames
    choice: ToolChoice | NamedTool = ToolChoice.REQUIRED
    bare: str | None = None
    native: bool = True
    max_attempts: int = 3
    max_tokens: int = 1024
    held: Mapping[str, ExistingDocument] = {}
    edits: bool = False
    deletes: bool = False


def read_documents(docs: Mapping[str, Doc], shapes: Mapping[str, ToolShape]) -> dict[str, ExistingDocument]:
    """Return the documents of an update as JSON. Raises `ImpossibleRequest`."""
    documents = {}
    for name, doc in docs.items():
        if doc.name not in shapes:
            raise ImpossibleRequest(f"document {name} is of {doc.name}, which is no tool")
        try:
            document = msgspec.json.decode(msgspec.json.encode(doc.value))
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise ImpossibleRequest(f"document {name} is not JSON ({type(error).__name__})") from None
        documents[name] = ExistingDocument(doc, shapes[doc.name], document)
    return documents


def choose_allowed(choice: ToolChoice | NamedTool, offered: Collection[str]) -> tuple[str, ...]:
    """Return the names that may be called. Raises `ImpossibleRequest` when there are none."""
    if choice is ToolChoice.NONE or not offered:
        raise ImpossibleRequest("nothing is enabled that a model could call")
    if isinstance(choice, NamedTool):
        if choice.name not in offered:
            raise ImpossibleRequest(f"the chosen tool {choice.name} is not offered")
        return (choice.name,)
    return tuple(offered)
