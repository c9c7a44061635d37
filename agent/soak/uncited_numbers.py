"""Checks that the numbers of an answer are cited, by runs of digits.

Each run must stand in a citation, leading zeros aside. The drafts of the mock and of a script hold numbers as their
sources write them; a model that rewrites `1 234` as `1234` would need the number rule itself, which is not used here
so that the check shares no code with the code under test. Pure.
"""

import re
from collections.abc import Iterator
from typing import Any

from .wire import Frame

MEMORY = "memory/"  # prefix of the `file` of a citation of a memory item
_RUN = re.compile(r"\d+")


def find_uncited(response: Frame) -> Iterator[str]:
    """Yield each run of digits of a response that stands in none of its citations, nor in a heading they show."""
    cited: set[str] = set()
    for citation in citations_of(response):
        shown = f"{citation['snippet']}\n{citation.get('heading', '')}"
        cited.update(run.lstrip("0") for run in _RUN.findall(shown))
    for run in _RUN.findall(response["text"]):
        if run.lstrip("0") not in cited:
            yield run


def citations_of(response: Frame) -> list[dict[str, Any]]:
    """Return the citations of a response."""
    found: list[dict[str, Any]] = response["citations"]
    return found
