"""The plan of one request for valid calls, fixed before the first round; pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

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


def name_documents(docs: Mapping[str, Any], shapes: Mapping[str, ToolShape]) -> dict[str, Doc]:
    """Return the documents of an update, each with its tool. Raises `ImpossibleRequest`.

    A plain value is of the tool whose name is its id, else of the tool that is its type, else of the only tool.
    """
    if not isinstance(docs, Mapping) or not all(isinstance(id, str) for id in docs):
        raise ImpossibleRequest("give the documents as a mapping of their ids, which are texts")
    named = {}
    for id, value in docs.items():
        doc = value if isinstance(value, Doc) else Doc(_find_tool(id, value, shapes), value)
        if doc.name not in shapes:
            raise ImpossibleRequest(f"document {id} is of {doc.name}, which is no tool")
        named[id] = doc
    return named


def _find_tool(id: str, value: Any, shapes: Mapping[str, ToolShape]) -> str:
    if id in shapes:
        return id
    of_type = [name for name, shape in shapes.items() if shape.kind is type(value)]
    if of_type or len(shapes) == 1:
        return next(iter(of_type or shapes))
    raise ImpossibleRequest(f"document {id} may be of several tools: give it as a Doc, with the tool's name")


def read_documents(docs: Mapping[str, Doc], shapes: Mapping[str, ToolShape]) -> dict[str, ExistingDocument]:
    """Return the documents of an update as JSON. Raises `ImpossibleRequest`."""
    documents = {}
    for name, doc in docs.items():
        try:
            dump = getattr(doc.value, "model_dump", None)  # pydantic's
            plain = dump(mode="json") if callable(dump) else doc.value
            document = msgspec.json.decode(msgspec.json.encode(plain))
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
