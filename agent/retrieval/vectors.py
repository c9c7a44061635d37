"""What vectors tell of sections: the port between ranking, which imports no numpy, and `matrix`, which does."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class Near(Protocol):
    """How near sections are to a question. near, file: 0..1 beside the best section and file."""

    @property
    def numbers(self) -> Sequence[int]:
        """Return which sections these are."""
        ...

    @property
    def cosine(self) -> Sequence[float]:
        """Return the cosine of each with the question."""
        ...

    @property
    def near(self) -> Sequence[float]:
        """Return it spread to 0..1 over all sections."""
        ...

    @property
    def file(self) -> Sequence[float]:
        """Return the same for the mean of its file's sections."""
        ...


class SectionVectors(Protocol):
    """Tells how near the meaning of a question is to that of sections."""

    @property
    def rows(self) -> Iterable[Any]:
        """Return the vector of each, by its number."""
        ...

    def near(self, question: object, others: Iterable[int], limit: int) -> Near | None:
        """Return how near the other sections are to a question, and after them the `limit` nearest ones.

        Each section is told of once. None when nothing is known.
        """
        ...


class NoVectors:
    """Knows nothing (implements `SectionVectors`)."""

    rows: Iterable[Any] = ()

    def near(self, question: object, others: Iterable[int], limit: int) -> Near | None:
        """Return None."""
        return None
