"""The nearness of sections by vectors: the port between `ranking`, which imports no numpy, and `matrix`, which does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near sections are to a question, all sequences in the order of `numbers`.

    `cosine`: of the section with the question. `near`: the cosine spread to 0..1 over all sections; the best has 1.
    `file`: the same for the mean vector of the section's file.
    """

    numbers: Sequence[int]
    cosine: Sequence[float]
    near: Sequence[float]
    file: Sequence[float]


class SectionVectors(Protocol):
    """Tells how near the meaning of a question is to that of sections."""

    @property
    def rows(self) -> Iterable[Any]:
        """Return the vector of each section, by its number."""
        ...

    def find_near(self, question: object, others: Iterable[int], limit: int) -> Nearness | None:
        """Return the nearness of the sections `others`, and after them of the `limit` nearest ones, each section once.

        `question`: its vector. Returns None when nothing is known.
        """
        ...


class NoVectors:
    """Knows no vectors (implements `SectionVectors`)."""

    rows: Iterable[Any] = ()

    def find_near(self, question: object, others: Iterable[int], limit: int) -> Nearness | None:
        """Return None."""
        return None
