"""Labelled questions over documents: sets of cases as `agent.evaluation.cases` describes them, and judges.

A folder holds `<set>/` (documents) and `<set>.jsonl` for each set. Of the rows of a set without an answer ("off") the
first half is near its subject and the rest far from it.
"""

from pathlib import Path

import msgspec

from agent.evaluation.cases import Case

_decoder = msgspec.json.Decoder(Case)


def sets(folder: Path) -> list[str]:
    """Return the names of the sets, sorted."""
    return sorted(path.stem for path in folder.glob("*.jsonl") if path.with_suffix("").is_dir())


def rows_of(folder: Path, name: str) -> list[Case]:
    """Return the questions of a set, as they stand."""
    return [_decoder.decode(each) for each in (folder / f"{name}.jsonl").read_bytes().splitlines()]
