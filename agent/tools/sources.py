"""Finds the source of each argument of a call, or reports that it has none, so that the user is asked for it.

Strategy: each leaf of the arguments is cut into `Need`s, and each need is looked for in the sources in the order of
trust: the user's message, the tool's own schema, the conversation, memory, the documents that were found, results, and
the clock for the dates that the user's words mean. The source of a leaf is the least trusted one that it needs. A
model's word for a number, a name or an id counts for nothing. So no text of a document can start a call that its user
did not give the words for, and an argument that a document fills in is marked (`SourceTrace.elsewhere`). Texts are read
once, when a need is first looked for in them, and the reading is cached with the sources.

Two errors are not caught: a value that a source states about another thing, and words without a number or an
identifier, which need only one content word in common with a source.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, TypeAlias

from agent.errors import AgentError
from agent.grounding.evidence import citation_text
from agent.ports.search import Snippet

from .leaves import Leaf, walk_leaves
from .needs import Need, find_needs
from .settings import ARGUMENT_NEEDS
from .texts import SourceText, legend_of, make_text

# Bytes of the pointers to the arguments of a call, which its user is shown with their sources.
SOURCES_BYTES = 32 * 1024

SourceKind: TypeAlias = Literal["user", "schema", "thread", "memory", "snippet", "result", "clock", "free"]
"""The source of a leaf. `free`: true, false, null or an empty value, which needs no source; or words that need none."""

_TRUST: Final[tuple[SourceKind, ...]] = ("user", "schema", "thread", "memory", "snippet", "result", "clock")
_CODE: Final = 16  # characters of a code that a schema explains
_ENTRY: Final = 16  # bytes of a source beside its pointer, on the wire
_UNTRUSTED: Final = frozenset(("memory", "snippet", "result"))


class TooManySources(AgentError):
    """The sources of the arguments would take too long to find, or too much space to show."""


@dataclass(frozen=True, slots=True)
class SourcedLeaf:
    """A leaf of the arguments and its source.

    `pointer`: a JSON Pointer into the arguments. `source`: None when there is none, and the user is asked for the
    value. `elsewhere`: a number or an identifier of the leaf stands in no words of the user's, only in an answer, a
    document, memory or a result.
    """

    pointer: str
    source: SourceKind | None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class SourceTrace:
    """The sources of the leaves of a call's arguments, in their order."""

    leaves: tuple[SourcedLeaf, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The pointers of the leaves without a source, which the turn must ask for."""
        return tuple([leaf.pointer for leaf in self.leaves if leaf.source is None])

    @property
    def elsewhere(self) -> bool:
        """Whether a number or an identifier of the arguments stands in no words of the user's."""
        return any(leaf.elsewhere for leaf in self.leaves)

    @property
    def sources(self) -> dict[str, SourceKind]:
        """The source of each leaf that has one, by its pointer."""
        return {leaf.pointer: leaf.source for leaf in self.leaves if leaf.source is not None}


class SourceTexts:
    """The texts that arguments may come from, each read once."""

    __slots__ = ("_answers", "_texts", "_user_texts", "heard")

    def __init__(
        self,
        user: str | SourceText,
        thread: Iterable[str | SourceText] = (),
        memory: Iterable[str | SourceText] = (),
        snippets: Iterable[Snippet | str | SourceText] = (),
        results: Iterable[str | SourceText] = (),
        answers: Iterable[str | SourceText] = (),
        heard: bool = False,
    ) -> None:
        """Take the texts; a text is read when a need is first looked for in it.

        `user`: the message that is answered. `thread`: the user's own earlier messages. `answers`: the answers to them.
        An answer may repeat a document, so it counts as the thread but never as the user's words. `memory`: accepted
        items. `snippets`: the documents that were found, or their texts. `results`: of calls, the lines of each in one
        text. `heard`: a recogniser made some of the user's messages of audio.
        """
        self.heard = heard
        documents = [citation_text(each) if isinstance(each, Snippet) else each for each in snippets]
        self._user_texts: tuple[SourceText, ...] = (make_text(user), *map(make_text, thread))
        self._answers = tuple(map(make_text, answers))
        self._texts: dict[SourceKind, tuple[SourceText, ...]] = {
            "user": self._user_texts[:1],
            "thread": self._user_texts[1:] + self._answers,
            "memory": tuple(map(make_text, memory)),
            "snippet": tuple(map(make_text, documents)),
            "result": tuple(map(make_text, results)),
        }

    @property
    def conversation_only(self) -> "SourceTexts":
        """The sources of the conversation alone: short to read, and mostly enough."""
        return SourceTexts(self._user_texts[0], self._user_texts[1:], answers=self._answers, heard=self.heard)

    def read_texts(self) -> Iterator[int]:
        """Read the texts ahead of the look-ups, one by one; yield the characters of each."""
        for text in {id(each): each for texts in self._texts.values() for each in texts}.values():
            if text.read_all():
                yield len(text.raw)

    def with_result(self, result: str) -> "SourceTexts":
        """Return the sources with one more result; both share the texts that were read."""
        texts = self._texts
        results = (*texts["result"], make_text(result))
        user, *thread = self._user_texts
        return SourceTexts(
            user, thread, texts["memory"], texts["snippet"], results, self._answers, self.heard
        )

    def find_source(self, need: Need, today: date) -> tuple[SourceKind | None, bool]:
        """Return the first kind of source that holds a need, and whether no words of the user's hold it.

        The source is None when no text holds the need. For needs of the sort `words` the second value is always False.
        """
        source: SourceKind | None = None
        for kind, texts in self._texts.items():
            if any(need.is_met_by(text) for text in texts):
                source = kind
                break
        if source is None and need.sort == "date" and self._is_meant_date(need, today):
            return "clock", False
        if source is None or need.sort == "words":
            return source, False
        if source == "thread":
            return source, not any(need.is_met_by(text) for text in self._user_texts)
        return source, source in _UNTRUSTED and not (need.sort == "date" and self._is_meant_date(need, today))

    def is_explained(self, leaf: Leaf) -> bool:
        """Return whether a leaf is a code that its schema explains in words which the user's words hold."""
        value = leaf.value
        if (
            leaf.names
            or isinstance(value, bool)
            or not isinstance(value, (str, int))
            or not leaf.descriptions
        ):
            return False
        code = str(value)
        return (
            0 < len(code) <= _CODE
            and code.isalnum()
            and any(
                text.explains(legend_of(code, description))
                for description in leaf.descriptions
                for text in self._user_texts
            )
        )

    def _is_meant_date(self, need: Need, today: date) -> bool:
        """Return whether the date of `need` is one that the user's words mean."""
        return any(not need.dates.isdisjoint(text.dates_meant(today)) for text in self._user_texts)


def trace_sources(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any], sources: SourceTexts, today: date
) -> SourceTrace:
    """Return the source of each leaf of a call's arguments.

    `arguments`: JSON, valid by `parameters`, the tool's JSON Schema. `today`: by the clock of the user's place. Raises
    `TooManySources` for more than `ARGUMENT_NEEDS` needs, or pointers of over `SOURCES_BYTES`.
    """
    sourced_leaves: list[SourcedLeaf] = []
    needs_left, bytes_left = ARGUMENT_NEEDS, SOURCES_BYTES
    for leaf in walk_leaves(arguments, parameters):
        leaf_needs = tuple(_find_leaf_needs(leaf))
        needs_left -= max(1, len(leaf_needs))
        bytes_left -= len(leaf.pointer.encode("utf-8", "replace")) + _ENTRY
        if needs_left < 0 or bytes_left < 0:
            raise TooManySources("the call has too many arguments to find the source of each")
        sourced_leaves.append(_find_leaf_source(leaf, leaf_needs, sources, today))
    return SourceTrace(tuple(sourced_leaves))


def find_holders(
    values: Iterable[str], conversation: SourceTexts, texts: Sequence[str | SourceText], today: date
) -> tuple[int, ...]:
    """Return the indices of the `texts` that hold a need of `values` which the `conversation` does not hold.

    Each need gives the first such text.
    """
    source_texts = [make_text(each) for each in texts]
    indices: list[int] = []
    for need in (each for value in values for each in find_needs(value, True)):
        if conversation.find_source(need, today)[0] is None:
            indices += [index for index, text in enumerate(source_texts) if need.is_met_by(text)][:1]
    return tuple(dict.fromkeys(indices))


def _find_leaf_source(leaf: Leaf, needs: tuple[Need, ...], sources: SourceTexts, today: date) -> SourcedLeaf:
    """Return the source of `leaf`: the least trusted one of all its `Need`s."""
    kinds_found: list[SourceKind | None] = []
    elsewhere = False
    is_named = leaf.allowed or sources.is_explained(leaf)
    for need in needs:
        kind, is_elsewhere = sources.find_source(need, today)
        if is_named and kind != "user":
            kind, is_elsewhere = "schema", False
        kinds_found.append(kind)
        elsewhere = elsewhere or is_elsewhere
    if not kinds_found:
        if leaf.allowed:
            return SourcedLeaf(leaf.pointer, "schema")
        empty = leaf.required and isinstance(leaf.value, str) and not leaf.value.strip()
        return SourcedLeaf(leaf.pointer, None if empty else "free")
    kinds = [kind for kind in kinds_found if kind is not None]
    if len(kinds) < len(kinds_found):
        return SourcedLeaf(leaf.pointer, None, elsewhere)
    return SourcedLeaf(leaf.pointer, max(kinds, key=_TRUST.index), elsewhere)


def _find_leaf_needs(leaf: Leaf) -> Iterator[Need]:
    """Yield the `Need`s of `leaf`, and of the keys above it that no schema names."""
    yield from find_needs(leaf.value, leaf.required)
    for name in leaf.names:
        yield from find_needs(name, leaf.required)
