"""Writes decisions about calls into files: CSV that no spreadsheet runs, and JSON lines."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Final

import msgspec

from ...protocol.approvals import DecisionView

KINDS: Final[Mapping[str, str]] = {"csv": "text/csv; charset=utf-8", "jsonl": "text/x-ndjson"}
"""The media type of each form."""
_COLUMNS: Final = DecisionView.__struct_fields__
# Characters with which a spreadsheet takes a cell for a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
_encode = msgspec.json.Encoder().encode


def write_jsonl(decisions: Sequence[DecisionView]) -> bytes:
    """Return a JSON object a line, as UTF-8."""
    return b"".join(_encode(each) + b"\n" for each in decisions)


def write_csv(decisions: Sequence[DecisionView]) -> bytes:
    """Return rows of a table (RFC 4180), as UTF-8. A cell that a spreadsheet would run begins with an apostrophe."""
    rows = map(msgspec.to_builtins, decisions)
    return _write_rows([_make_harmless(row[name] or "") for name in _COLUMNS] for row in rows)


def _write_rows(rows: Iterable[Iterable[str]]) -> bytes:
    file = StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode()


CSV_HEAD: Final = _write_rows([_COLUMNS])
"""The first row of a table of decisions."""


def _make_harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text
