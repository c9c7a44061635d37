"""Reads the statements of a document that hold numbers, in a form in which two files can be compared.

Strategy: a statement is a sentence, a list item with the line that leads into it, or one cell of a table with the
names of its row, its column and its first column. Its frame is the stems of its content words and the kinds and units
of its numbers; its values are the numbers. Numbers that name the row (the first cell) belong to the frame, as do
identifiers that begin with a letter, versions, parts of a text (section 3), and numbers that are set with "=". Words
that a currency says already (price, cost) are left out, so that a table and a sentence can have one frame. An example
claims nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.documents import Block, Document
from agent.lang import LANGUAGES, Lang
from agent.lexical.subject import subject_stems
from agent.numbers.number_tokens import NumberToken, tokens
from agent.text.sentences import find_sentences
from agent.text.words import SMALL

_ALL = [language.stating for language in LANGUAGES.values()]
_PART = re.compile(rf";\s+(?=[^\W\d_{SMALL}])")
_NAMES = frozenset({"ordinal", "roman", "symbol", "unread"})
_VERSIONS = "|".join(each.versions for each in _ALL)
_PARTS = "|".join(each.parts for each in _ALL)
_BEFORE_A_NAME = re.compile(
    rf"(?:\b(?:(?:{_VERSIONS}|v)\.?:?|copyright|\(c\)|©|{_PARTS})\s?|[=©])\Z", re.IGNORECASE
)
_EXAMPLE = re.compile(rf"\b(?:{'|'.join(each.examples for each in _ALL)})", re.IGNORECASE)
_LIMITS = {
    "<": re.compile(rf"\b(?:{'|'.join(each.at_most for each in _ALL)})\b", re.IGNORECASE),
    ">": re.compile(rf"\b(?:{'|'.join(each.at_least for each in _ALL)})\b", re.IGNORECASE),
}
_VERSION = re.compile(r"v?\d+(?:\.\d+){2,}", re.IGNORECASE)
_NEAR = 16  # characters before a number that are searched for a word that makes it a name


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericStatement:
    """The numbers of a statement, and the subject they are about.

    `file`, `line`: where it stands, counted from 1. `text`: the sentence or row as written. `frame`: stems, and
    numbers that name. `topic`: stems of the headings above. `subjects`: how many words of the frame are more than
    days and months. `named`: whether its subject has a name; False for a row whose first cell has no word. `limits`:
    "<" where it gives the most that something may be, ">" the least. `values`: by kind and unit, sorted.
    """

    file: str
    line: int
    text: str
    frame: frozenset[str]
    topic: frozenset[str]
    subjects: int
    named: bool
    limits: str
    values: tuple[tuple[str, str], ...]


class StatementReader:
    """Reads the statements of documents in the language `lang`."""

    def __init__(self, lang: Lang) -> None:
        self._lang = lang
        stating = LANGUAGES[lang].stating
        self._calendar = self._stems_of(" ".join(stating.calendar))
        self._priced = self._stems_of(" ".join(stating.priced))

    def read_statements(self, document: Document) -> Iterator[NumericStatement]:
        """Yield the statements of a document that hold numbers; code is left out."""
        for block in document.blocks:
            if block.kind == "code":
                continue
            if len(block.cells) > 1 and len(block.cells) == len(block.header):
                yield from self._read_row(document.file, block)
                continue
            context = " . ".join(block.parents)
            for start, end in find_sentences(block.text):
                for part in _PART.split(block.text[start:end]):
                    yield from self._read_statement(document.file, block, part, context)

    def _read_row(self, file: str, block: Block) -> Iterator[NumericStatement]:
        """Yield one statement for each cell after the first one, which names the row."""
        name = " . ".join((block.header[0], block.cells[0]))
        naming = name + " ".join(
            f" #{token.value.replace(' ', '_')}" for token in tokens(block.cells[0], source=True)
        )
        named = bool(self._stems_of(_split_numbers(block.cells[0])[2]))
        for cell, column in zip(block.cells[1:], block.header[1:], strict=True):
            yield from self._read_statement(file, block, cell, f"{naming} . {column}", block.text, named)

    def _read_statement(
        self, file: str, block: Block, text: str, context: str, written: str = "", named: bool = True
    ) -> Iterator[NumericStatement]:
        """Yield the statement of a text if it holds a number.

        `written`: the text that people are shown. `named`: as in `NumericStatement`.
        """
        values, names, rest = _split_numbers(text)
        if not values or _EXAMPLE.search(text):
            return
        frame = (
            self._stems_of(f"{rest} {_split_numbers(context)[2]}") | names | set(re.findall(r"#\S+", context))
        )
        topic = self._stems_of(" ".join(block.path))
        if any(kind.startswith("money") for kind, _ in values):
            frame, topic = frame - self._priced, topic - self._priced
        yield NumericStatement(
            file=file,
            line=block.first,
            text=written or text,
            frame=frozenset(frame),
            topic=topic,
            subjects=len(frame - self._calendar) if named else 0,
            named=named,
            limits="".join(sign for sign, words in _LIMITS.items() if words.search(text)),
            values=values,
        )

    def title_stems(self, document: Document) -> frozenset[str]:
        """Return the stems of a document's title, or of its file name without one."""
        name = document.file.rpartition("/")[2].partition(".")[0]
        return self._stems_of(document.title or re.sub(r"[\W_]+", " ", name))

    def _stems_of(self, text: str) -> frozenset[str]:
        """Return the stems of the words of `text` that carry its subject."""
        return subject_stems(text, self._lang)


def _split_numbers(text: str) -> tuple[tuple[tuple[str, str], ...], set[str], str]:
    """Return the values of a text by kind and unit, sorted; the numbers that name; and the text without both."""
    values: list[tuple[str, str]] = []
    names: set[str] = set()
    rest: list[str] = []
    at = 0
    for token in tokens(text, source=True):
        rest.append(text[at : token.start])
        at = token.end
        if token.kind in _NAMES or _is_name(token, text):
            names.add("#" + token.value.replace(" ", "_"))
        else:
            values.append((_kind_of(token), token.value))
    rest.append(text[at:])
    return tuple(sorted(values)), names, " ".join(rest)


def _is_name(token: NumberToken, text: str) -> bool:
    """Tell whether a number is a name: an identifier, a version or an attribute."""
    if token.kind == "identifier":
        return not token.value[:1].isdigit() or _VERSION.fullmatch(token.value) is not None
    return _BEFORE_A_NAME.search(text, max(0, token.start - _NEAR), token.start) is not None


def _kind_of(token: NumberToken) -> str:
    """Return the kind and unit of a number: only numbers of one kind can contradict each other."""
    unit = ":" if ":" in token.value else token.value.partition(" ")[2]
    return f"{token.kind} {unit}".strip()
