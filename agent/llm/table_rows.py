"""Words a table's row for a question: the columns that it asks for, in words where the header says "per month".

Strategy: a row reads "first cell; header: cell; ...". Where the question names the row by its first cell, the columns
asked for are those whose headers hold most of the question's words, or else those that hold the kind of thing that is
asked for (a price, a time) in any of the rows; a short cell that holds a word of the question stays too, since it names
the subject of the row. Where nothing tells the columns apart, or a cell cannot be told from its neighbours, the row is
quoted whole. An amount of money is followed by the "per month" of its header. A rewording is used only where the number
rule finds each of its numbers in the row.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..grounding.verify import check_numbers
from ..numbers.number_tokens import tokens
from ..numbers.token import Kind
from ..ports.search import Hit, Lang, Passage
from ..retrieval.parsed_question import find_kinds, parse_question
from ..text.words import split_words
from .named_tools import EMPTY_WORDS, Stems, stems

_CELL_END, _HEADER_END = "; ", ": "
_KEPT = 4096  # rows whose first cells' stems, and whose columns' kinds, are cached
_SHORT = 8  # words of a cell that names the subject of its row
_ROWS = 100  # of a section that are searched for columns of prices
_RATE = re.compile(r"\S+(?: \S+){0,2} (per [^\W\d_]+)", re.IGNORECASE)  # a header such as "Price per month"


class TableQuestion(NamedTuple):
    """A question as rows are worded for it. `subject`: its content words. `kind`: of thing that would answer it."""

    subject: Sequence[Stems]
    kind: str | None


def read_table_question(question: str, lang: Lang) -> TableQuestion:
    """Return `question`, in the language `lang`, as rows are worded for it."""
    parsed = parse_question(question, lang)
    return TableQuestion([stems(word) for word in parsed.words], parsed.kind)


def word_row(hit: Hit, question: TableQuestion) -> str:
    """Return a row with its first cell and the columns that are asked for; the row as it stands where none is."""
    row = hit.snippet.plain_text
    name, columns = _split_row(row)
    if _HEADER_END in name or not columns or not all(header and cell for header, cell in columns):
        return row
    worded = _join_columns(name, _choose_columns(name, columns, question, hit.passage))
    return worded if worded == row or check_numbers(worded, [hit.snippet]).is_supported else row


def _split_row(row: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the first cell of a row, and the header and cell of each other column."""
    name, *rest = row.split(_CELL_END)
    return name, [(header, cell) for header, _, cell in [each.partition(_HEADER_END) for each in rest]]


def names_row(asked: Stems, hit: Hit) -> bool:
    """Tell whether `asked`, the stems of a question's content words, hold each content word of a row's first cell."""
    words = _stem_name(hit.snippet.plain_text.partition(_CELL_END)[0])
    return bool(words) and not any(map(asked.isdisjoint, words))


def is_named_in(text: str, row: Hit) -> bool:
    """Tell whether a text holds each content word of a row's first cell."""
    return names_row(Stems().union(*map(stems, split_words(text))), row)


@lru_cache(maxsize=_KEPT)
def _stem_name(name: str) -> tuple[Stems, ...]:
    """Return the stems of each content word of a row's first cell."""
    return tuple([stems(word) for word in split_words(name) if word not in EMPTY_WORDS])


def _choose_columns(
    name: str, columns: Sequence[tuple[str, str]], question: TableQuestion, passage: Passage
) -> Sequence[tuple[str, str]]:
    """Return the columns, as header and cell, that a question asks for; all of them where none stands out.

    `name`: the first cell. `passage`: the section of the table.
    """
    shares = [_count_named(question.subject, header) for header, _ in columns]
    if not _count_named(question.subject, name):
        return columns
    if any(shares):
        asked = [share == max(shares) for share in shares]
    else:
        headers = _find_headers(passage, question.kind) if question.kind in ("money", "time") else ()
        asked = [header in headers for header, _ in columns]
    return [
        column
        for column, is_asked in zip(columns, asked, strict=True)
        if is_asked
        or not any(asked)
        or (len(column[1].split()) <= _SHORT and _count_named(question.subject, column[1]))
    ]


def _find_headers(passage: Passage, kind: str) -> set[str]:
    """Return the headers of the columns in which a row states a `kind` of thing; another may say "free" there."""
    rows = [each.plain_text for each in passage.snippets if each.kind == "row"][:_ROWS]
    return {header for row in rows for header, kinds in _find_column_kinds(row) if kind in kinds}


@lru_cache(maxsize=_KEPT)
def _find_column_kinds(row: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return each header of a row, and the kinds of thing that it states with its cell."""
    return tuple([(header, frozenset(find_kinds(f"{header} {cell}"))) for header, cell in _split_row(row)[1]])


def _count_named(subject: Sequence[Stems], text: str) -> int:
    """Return how many words of a question a header or a cell holds."""
    held = frozenset[tuple[Lang, str]]().union(*map(stems, split_words(text)))
    return sum(not word.isdisjoint(held) for word in subject)


def _join_columns(name: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return a row of some columns: "Standard: 299 kr per month", or the form in which it was read."""
    header, cell = columns[0]
    rate = _RATE.fullmatch(header) if len(columns) == 1 else None
    if rate and [(each.kind, each.start, each.end) for each in tokens(cell)] == [(Kind.MONEY, 0, len(cell))]:
        return f"{name}: {cell} {rate[1].lower()}"
    return _CELL_END.join([name, *(f"{header}{_HEADER_END}{cell}" for header, cell in columns)])
