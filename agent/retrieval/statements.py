"""What a knowledge base says in numbers, statement by statement, in a form that two files can be compared in.

Strategy: a statement is a sentence, a list item with the line that leads into it, or one cell of a table with the
names of its row, its column and its first column. Its frame is the stems of its content words and the kinds and units
of its numbers; what it says is their values. Numbers that name the row (the first cell) belong to the frame, as do
identifiers that begin with a letter. Words that a currency says already (price, cost) are left out, so that a table
and a sentence can have one frame.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.ports.search import Lang
from agent.text.numbers import Token, tokens
from agent.text.words import words

from .chunk import Piece
from .rewrite import subject_words
from .vocabulary import Vocabulary

_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"'”’)*_]*\s+(?=[\"'“(*_]*[^\W\d_a-zåäö])")
_CELL = re.compile(r"(?<!\\)\|")
_NAMES = frozenset({"ordinal", "roman", "symbol", "unread"})
_PRICED = {"en": "price prices priced cost costs", "sv": "pris priset priser kosta kostar kostade"}
_CALENDAR = {
    "en": "monday tuesday wednesday thursday friday saturday sunday weekday weekdays weekend weekends daily day days "
    "week weeks month months year years today january february march april june july august september october "
    "november december",
    "sv": "måndag tisdag onsdag torsdag fredag lördag söndag vardag vardagar helg helger dagligen dag dagar vecka "
    "veckor månad månader år idag januari februari mars april maj juni juli augusti september oktober november "
    "december",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """Numbers, and what they are said of.

    frame: stems, and numbers that name. topic: stems of the headings above.
    subjects: how many of the frame's words are more than days and months. values: by kind and unit, sorted.
    text: the sentence or row as written. line: of the file, counted from 1.
    """

    file: str
    line: int
    text: str
    frame: frozenset[str]
    topic: frozenset[str]
    subjects: int
    values: tuple[tuple[str, str], ...]


class Reader:
    """Reads the statements of pieces in one language."""

    def __init__(self, lang: Lang) -> None:
        self._lang = lang
        self._stem = Vocabulary(lang).stem
        self._calendar = self._stems(_CALENDAR[lang])
        self._priced = self._stems(_PRICED[lang])

    def read(self, piece: Piece) -> Iterator[Statement]:
        """Yield what a piece says in numbers."""
        own = piece.passage.headings[-1:]
        context = piece.context.removeprefix(f"{own[0]} . " if own else "")
        cells = _cells(piece.snippet.text)
        header = context.split(" . ")
        if len(cells) > 1 and len(cells) == len(header):
            yield from self._row(piece, cells, header)
            return
        text = " ".join(piece.snippet.text.split("\n"))
        for sentence in _SENTENCE_END.split(text):
            yield from self._statement(piece, sentence, context, " ".join(sentence.split()))

    def _row(self, piece: Piece, cells: Sequence[str], header: Sequence[str]) -> Iterator[Statement]:
        """Yield one statement per cell after the first, which names the row."""
        name = " . ".join((header[0], cells[0]))
        naming = name + " ".join(
            f" #{token.value.replace(' ', '_')}" for token in tokens(cells[0], source=True)
        )
        for cell, column in zip(cells[1:], header[1:], strict=True):
            yield from self._statement(piece, cell, f"{naming} . {column}", piece.snippet.text.strip())

    def _statement(self, piece: Piece, text: str, context: str, written: str) -> Iterator[Statement]:
        """Yield the statement of a text, if it has a number in it; `written`: how it is shown to people."""
        values, names, rest = _numbers(text)
        if not values:
            return
        frame = self._stems(f"{rest} {_numbers(context)[2]}") | names | set(re.findall(r"#\S+", context))
        topic = self._stems(" ".join(piece.passage.headings))
        if any(kind.startswith("money") for kind, _ in values):
            frame, topic = frame - self._priced, topic - self._priced
        yield Statement(
            piece.snippet.file,
            piece.snippet.first,
            written,
            frozenset(frame),
            topic,
            len(frame - self._calendar),
            values,
        )

    def _stems(self, text: str) -> frozenset[str]:
        """Return the stems of the content words of a text."""
        return frozenset(self._stem(word) for word in subject_words(words(text), self._lang))


def _cells(text: str) -> list[str]:
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in _CELL.split(text.strip().strip("|"))] if "\n" not in text else []


def _numbers(text: str) -> tuple[tuple[tuple[str, str], ...], set[str], str]:
    """Return the values of a text by kind and unit, sorted; the numbers that name; and the text without both."""
    values: list[tuple[str, str]] = []
    names: set[str] = set()
    rest: list[str] = []
    at = 0
    for token in tokens(text, source=True):
        rest.append(text[at : token.start])
        at = token.end
        if token.kind in _NAMES or (token.kind == "identifier" and not token.value[:1].isdigit()):
            names.add("#" + token.value.replace(" ", "_"))
        else:
            values.append((_kind(token), token.value))
    rest.append(text[at:])
    return tuple(sorted(values)), names, " ".join(rest)


def _kind(token: Token) -> str:
    """Return the kind of a number and its unit: only numbers of one kind can contradict each other."""
    unit = ":" if ":" in token.value else token.value.partition(" ")[2]
    return f"{token.kind} {unit}".strip()
