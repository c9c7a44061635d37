"""Rows of `words`: texts that other rows refer to by number, written once and only ever emptied."""

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ..dialect import NUMBER
from ..prepared import PreparedStatement
from .schema import words

_WRITE = PreparedStatement(sa.insert(words).returning(words.c.number), "story", "text")
_EMPTY = PreparedStatement(
    sa.update(words).where(words.c.number == sa.bindparam("of", type_=NUMBER)).values(text="")
)


def write_words(connection: sa.Connection, story: int, *texts: str) -> int:
    """Write one or more texts of a story as one row; return its number."""
    value = texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False)
    ((number,),) = _WRITE.rows(connection, story=story, text=value)
    return int(number)


def empty_words(connection: sa.Connection, number: int) -> None:
    """Empty a row."""
    _EMPTY.rows(connection, of=number)


def decode_words(value: str) -> Sequence[Any]:
    """Return the texts of a row with more than one."""
    decoded: list[Any] = json.loads(value)
    return decoded
