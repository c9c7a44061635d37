"""The questions of the commands that search: their options, and their files of JSON lines."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from ..errors import UsageError
from .lines import read_lines

_SERVED = "openai:"
_WANTED = 'write {"id": "...", "text": "..."} on one line'


class QuestionLine(msgspec.Struct):
    """A question of a file; `id` is any JSON value and comes back with the hits."""

    id: msgspec.Raw
    text: str

    @property
    def given_id(self) -> msgspec.Raw | msgspec.UnsetType:
        """The `id` of a line; `UNSET` for a question of the command line, which has none."""
        return self.id if bytes(self.id) else msgspec.UNSET


def check_vectors(command: str, vectors: str) -> None:
    """Raise `UsageError` when the `vectors` would come from a model server, which `command` asks nothing."""
    if vectors.startswith(_SERVED):
        raise UsageError(
            f"{command} asks no model server ({vectors} works with agent serve): take --vectors auto, off, static, "
            "minilm or bert:FOLDER"
        )


def check_search(text: str | None, queries: Path | None, k: int, floor: float | None) -> None:
    """Raise `UsageError` unless there is one question or a file of them, and a possible number of hits and floor."""
    if (text is None) == (queries is None):
        raise UsageError("give one question, or a file of them with --queries FILE.jsonl")
    if k < 1:
        raise UsageError("-k must be at least 1")
    if floor is not None and not 0 <= floor <= 1:
        raise UsageError("--floor must be 0 to 1")


def read_questions(text: str | None, queries: Path | None) -> Iterator[QuestionLine]:
    """Yield the question of the command line, or those of the file `queries`."""
    if text is not None:
        yield QuestionLine(msgspec.Raw(), text)
    if queries is not None:
        for _, question in read_lines([queries], QuestionLine, _WANTED):
            yield question
