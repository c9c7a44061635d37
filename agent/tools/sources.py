"""Where each argument of a call comes from, or that it comes from nowhere and must be asked for.

Strategy: each leaf of the arguments is cut into what it needs a source for (`needs`), and each of these is looked for
in the sources in the order of trust: the user's message, the tool's own schema, what was said before, memory, the
documents that were found, results, and the clock for the dates that the user's words mean. A leaf's source is the least
trusted one that it needs. A model's word for a number, a name or an id counts for nothing, whatever it read: so nothing
that a document says starts a call that its user did not give the words for, and what it fills in is known
(`Traced.elsewhere`). Texts are read once, when something is first looked for in them, and kept with the sources.

What it cannot catch: a value that a source holds, but says of something else; and words without a number or an
identifier, of which one content word is enough.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, TypeAlias

from agent.config import ARGUMENT_NEEDS, SOURCES_BYTES
from agent.errors import AgentError
from agent.grounding.evidence import shown
from agent.ports.search import Snippet

from .leaves import Leaf, leaves
from .needs import Need, needs
from .texts import Text, legend_of, text_of

SourceKind: TypeAlias = Literal["user", "schema", "thread", "memory", "snippet", "result", "clock", "free"]
"""What a leaf comes from. free: true, false, null or nothing, which no source is asked for; or words of no duty."""

_TRUST: Final[tuple[SourceKind, ...]] = ("user", "schema", "thread", "memory", "snippet", "result", "clock")
_CODE: Final = 16  # characters of a code that a schema explains
_ENTRY: Final = 16  # bytes of a source beside its pointer, on the wire
_ELSEWHERE: Final = frozenset(("memory", "snippet", "result"))


class TooMuch(AgentError):
    """Arguments whose sources would take too long to find, or too much to show."""


@dataclass(frozen=True, slots=True)
class Sourced:
    """A leaf of the arguments and where it comes from.

    pointer: a JSON Pointer into the arguments. source: None when there is none, and the user is to be asked for it.
    elsewhere: a number or an identifier of it stands in no words of the user's, only in an answer, a document, memory
    or a result.
    """

    pointer: str
    source: SourceKind | None
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Traced:
    """Where the leaves of a call's arguments come from, in their order."""

    leaves: tuple[Sourced, ...]

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


class Sources:
    """The texts that arguments may come from. What is read in them is kept."""

    __slots__ = ("_answers", "_texts", "_theirs")

    def __init__(
        self,
        user: str | Text,
        thread: Iterable[str | Text] = (),
        memory: Iterable[str | Text] = (),
        snippets: Iterable[Snippet | str | Text] = (),
        results: Iterable[str | Text] = (),
        answers: Iterable[str | Text] = (),
    ) -> None:
        """Take the texts; none is read before something is looked for in it.

        user: the message that is answered. thread: the user's own earlier messages. answers: what was answered to
        them, which may say what only a document said, so it counts as the thread but never as the user's words.
        memory: accepted items. snippets: what was found, or its text. results: of calls, their lines in one text.
        """
        documents = [shown(each) if isinstance(each, Snippet) else each for each in snippets]
        self._theirs: tuple[Text, ...] = (text_of(user), *map(text_of, thread))
        self._answers = tuple(map(text_of, answers))
        self._texts: dict[SourceKind, tuple[Text, ...]] = {
            "user": self._theirs[:1],
            "thread": self._theirs[1:] + self._answers,
            "memory": tuple(map(text_of, memory)),
            "snippet": tuple(map(text_of, documents)),
            "result": tuple(map(text_of, results)),
        }

    @property
    def said(self) -> "Sources":
        """What was said in the conversation alone: little to read, and mostly enough."""
        return Sources(self._theirs[0], self._theirs[1:], answers=self._answers)

    def read(self) -> Iterator[int]:
        """Read them one by one, so that nothing has to be read when it is looked for; yield the characters of each."""
        for text in {id(each): each for texts in self._texts.values() for each in texts}.values():
            if text.read():
                yield len(text.raw)

    def with_result(self, result: str) -> "Sources":
        """Return them with one more result; what was read in the others is kept with both."""
        texts = self._texts
        results = (*texts["result"], text_of(result))
        user, *thread = self._theirs
        return Sources(user, thread, texts["memory"], texts["snippet"], results, self._answers)

    def source_of(self, need: Need, today: date) -> tuple[SourceKind | None, bool]:
        """Return the first kind of source that holds something, and whether no words of the user's do.

        None when none does. Words are nobody's in particular: of them the second is always false.
        """
        found: SourceKind | None = None
        for kind, texts in self._texts.items():
            if any(need.met_by(text) for text in texts):
                found = kind
                break
        if found is None and need.sort == "date" and self._meant(need, today):
            return "clock", False
        if found is None or need.sort == "words":
            return found, False
        if found == "thread":
            return found, not any(need.met_by(text) for text in self._theirs)
        return found, found in _ELSEWHERE and not (need.sort == "date" and self._meant(need, today))

    def explained(self, leaf: Leaf) -> bool:
        """Tell whether a leaf is a code whose schema says in words what it stands for, and the user says that."""
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
            and any(text.says(legend_of(code, said)) for said in leaf.descriptions for text in self._theirs)
        )

    def _meant(self, need: Need, today: date) -> bool:
        """Tell whether a date is one that the user's words mean."""
        return any(not need.dates.isdisjoint(text.meant(today)) for text in self._theirs)


def trace(
    arguments: Mapping[str, Any], parameters: Mapping[str, Any], sources: Sources, today: date
) -> Traced:
    """Return where each leaf of a call's arguments comes from.

    arguments: JSON, valid by `parameters`, the tool's JSON Schema. today: by the clock of whom the user is.
    Raises `TooMuch` for more than ARGUMENT_NEEDS things to look for, or pointers to them of over SOURCES_BYTES.
    """
    traced: list[Sourced] = []
    left, room = ARGUMENT_NEEDS, SOURCES_BYTES
    for leaf in leaves(arguments, parameters):
        needed = tuple(_all_needs(leaf))
        left -= max(1, len(needed))
        room -= len(leaf.pointer.encode("utf-8", "replace")) + _ENTRY
        if left < 0 or room < 0:
            raise TooMuch("the arguments are too many to look for where each comes from")
        traced.append(_sourced(leaf, needed, sources, today))
    return Traced(tuple(traced))


def holders(
    values: Iterable[str], said: Sources, texts: Sequence[str | Text], today: date
) -> tuple[int, ...]:
    """Return which texts, by their place, hold what of some values is not in what was said: of each thing the first."""
    read = [text_of(each) for each in texts]
    found: list[int] = []
    for need in (each for value in values for each in needs(value, True)):
        if said.source_of(need, today)[0] is None:
            found += [index for index, text in enumerate(read) if need.met_by(text)][:1]
    return tuple(dict.fromkeys(found))


def _sourced(leaf: Leaf, needed: tuple[Need, ...], sources: Sources, today: date) -> Sourced:
    """Return the source of a leaf: the least trusted one of all that it needs."""
    found: list[SourceKind | None] = []
    elsewhere = False
    named = leaf.allowed or sources.explained(leaf)
    for need in needed:
        kind, only = sources.source_of(need, today)
        if named and kind != "user":
            kind, only = "schema", False
        found.append(kind)
        elsewhere = elsewhere or only
    if not found:
        if leaf.allowed:
            return Sourced(leaf.pointer, "schema")
        empty = leaf.required and isinstance(leaf.value, str) and not leaf.value.strip()
        return Sourced(leaf.pointer, None if empty else "free")
    kinds = [kind for kind in found if kind is not None]
    if len(kinds) < len(found):
        return Sourced(leaf.pointer, None, elsewhere)
    return Sourced(leaf.pointer, max(kinds, key=_TRUST.index), elsewhere)


def _all_needs(leaf: Leaf) -> Iterator[Need]:
    """Yield what a leaf needs, and what the keys above it do that no schema names."""
    yield from needs(leaf.value, leaf.required)
    for name in leaf.names:
        yield from needs(name, leaf.required)
