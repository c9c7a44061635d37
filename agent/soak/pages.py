"""A knowledge base that is rewritten while the server answers from it, and the check of answers against its states.

Each generation rewrites one of three files, by a rename, with numbers that no other generation near it has. So the
folder is in one known state at every moment, and every snapshot that a server takes is one of them: citations that do
not stand in one and the same state were taken from a torn snapshot.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

NAMES = ("pricing.md", "returns.md", "contact.md")
# Versions of a file before its numbers come again, so that a server's caches of read texts soon stop growing.
VERSIONS = 12
REMEMBERED = (VERSIONS - 1) * len(NAMES)  # generations, no two of which are the same

_PRICING = """\
# Plans and prices

| Plan | Price per month |
| --- | --- |
| Basic | {basic} kr |
| Standard | {standard} kr |
| Premium | {premium} kr |
"""
_RETURNS = """\
# Returns

You can return an unopened product within 14 days of delivery.
A return costs {cost} kr, which is taken from the refund.
The refund is paid within 5 business days.
"""
_CONTACT = """\
# Contact

Customer service answers the phone on weekdays between 09:00 and 17:00.
The phone number of customer service ends in {ending}.
"""


def make_texts(generation: int) -> dict[str, str]:
    """Return every file of the folder as it is from this generation (0, 1, ...) on, until the next."""
    pricing, returns, contact = (1000 + _version(generation, place) for place in range(len(NAMES)))
    return {
        "pricing.md": _PRICING.format(basic=pricing, standard=pricing + 2000, premium=pricing + 5000),
        "returns.md": _RETURNS.format(cost=returns + 1000),
        "contact.md": _CONTACT.format(ending=contact + 3000),
    }


def _version(generation: int, place: int) -> int:
    """Return the version number of the file at `place` in a generation, from 0 to `VERSIONS` - 1."""
    return ((generation - place) // len(NAMES) + 1) % VERSIONS


def are_cited(citations: Iterable[Mapping[str, Any]], held: Mapping[str, str]) -> bool:
    """Return whether every citation (`file`, `snippet`) stands in the files `held`, header lines of rows too."""
    for each in citations:
        text = held.get(str(each["file"]).removeprefix("kb/"), "")
        head, _, row = each["snippet"].partition("\n")
        if each["snippet"] not in text and not (head.startswith("|") and f"{head}\n" in text and row in text):
            return False
    return True


class Pages:
    """The folder, its last generations, and when each was written.

    `clock`: returns the present in seconds.
    """

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._clock = clock
        self._known: deque[tuple[int, float, dict[str, str]]] = deque(maxlen=REMEMBERED)
        self._write(0, NAMES)

    @property
    def generation(self) -> int:
        """The last generation that was begun to be written."""
        return self._known[-1][0]

    def rewrite(self) -> None:
        """Write the next generation; it appears at once, or not at all."""
        generation = self.generation + 1
        self._write(generation, (NAMES[generation % len(NAMES)],))

    def measure_staleness(self, citations: Iterable[Mapping[str, Any]], asked_at: float) -> float | None:
        """Return for how many seconds the cited state was out of date at `asked_at`.

        0 when the state was the present one, or came later; `None` when no remembered state holds all citations.
        """
        cited, replaced = list(citations), float("inf")
        for _, written, held in reversed(self._known):
            if are_cited(cited, held):
                return max(0.0, asked_at - replaced)
            replaced = written
        return None

    def _write(self, generation: int, names: Iterable[str]) -> None:
        held = make_texts(generation)
        self._known.append((generation, self._clock(), held))
        for name in names:
            fresh = self._folder / f".{name}.fresh"
            fresh.write_text(held[name], encoding="utf-8")
            os.replace(fresh, self._folder / name)
