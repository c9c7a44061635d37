"""The fuzzing of files, at length with FUZZ_FILES, and that its inputs are what they are to be."""

import os
from contextlib import suppress

import pytest

from agent.documents import Unreadable, parse_document

from .fuzz_files import Inputs, fuzz, seeds

FILES = int(os.environ.get("FUZZ_FILES", "500"))


@pytest.mark.proof
def test_no_mutated_file_ends_a_server_or_keeps_others_waiting() -> None:
    """Whatever is uploaded or put in the folder: it lives, stays small, and answers an innocent in time."""
    # A file that is read on the loop keeps an innocent waiting longer; `python -m tests.hostile.fuzz_files` asks 0.4 s.
    report = fuzz(FILES, seed=1, p99=5.0)
    assert report.findings == []
    assert report.answers > FILES / 5


def test_an_input_is_made_of_its_number_alone() -> None:
    """And texts can often still be read: they are mutations of good files, no noise."""
    one, other = Inputs(1), Inputs(1)
    made = [one.input(number) for number in range(30)]
    assert made[29] == other.input(29)
    assert {suffix for suffix, _ in made} == set(seeds())
    read_ones = 0
    for suffix, data in made:
        if suffix in (".txt", ".md", ".html") and len(data) < 20_000:
            with suppress(Unreadable):
                read_ones += bool(parse_document(f"a{suffix}", data).blocks)
    assert read_ones > 3
