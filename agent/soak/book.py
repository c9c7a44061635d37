"""What one user has told to be remembered, under numbers that nobody else says, and what may be shown of it.

Pure: the caller says what is about to be sent, and what came. The number says who told it, so that whatever shows one
can be judged by it alone: another's, another thread's, or one that was forgotten before it was asked for. What was
told, approved, cancelled and forgotten is noted, to be held against what is kept when all is over (`remembered`).
"""

import re
from collections.abc import Mapping
from itertools import count
from time import time
from typing import Any, Final

from .figures import Tally
from .notes import Note

APPROVED, SAID, CANCELLED = "memory:approved", "memory:said", "memory:cancelled"
FORGETTING, FORGOT, OFFERED = "memory:forgetting", "memory:forgot", "memory:offered"
MARK: Final = re.compile(r"(?<!\d)9\d{11}(?!\d)")
PROMISE: Final = "memory"
MOST: Final = 9_999  # numbers of one user
OF_HTTP: Final = 5_000  # added to the numbers of those who come over HTTP
LIVE: Final = ("accepted", "active", "blocked")
ANYWHERE: Final = ""
"""The place of who is known by a name: what he told is his in every thread."""
_RUNS = count(int(time()))
View = Mapping[str, Any]


def marks(text: str) -> list[str]:
    """Return the numbers of users that stand in a text."""
    return MARK.findall(text)


def next_run() -> int:
    """Return what tells a crowd's numbers from those of the one before: three digits."""
    return next(_RUNS) % 1000


class Book:
    """One user's account of what is remembered of it.

    name: stands in what is said of it. user: its number, up to four digits. run: of its crowd. items: as they were last
    shown, by their ids. off: the server remembers nothing.
    """

    def __init__(self, name: str, user: int, run: int, tally: Tally, note: Note | None = None) -> None:
        self.items: dict[str, View] = {}
        self.places: list[str] = []  # threads in which something was told
        self.off = False
        self._name = name
        self._mine = f"{user:04}"
        self._run = f"{run:03}"
        self._tally = tally
        self._note: Note = note or (lambda what, id, digest="", tool="": None)
        self._told: dict[str, str] = {}  # where each number was told
        self._gone: dict[str, float] = {}  # when each was known to be forgotten, and so each item

    @property
    def full(self) -> bool:
        """Whether nothing more can be told."""
        return self.off or len(self._told) >= MOST

    # --- what the user does

    def tells(self, place: str, approves: bool) -> str:
        """Something is about to be told; return its number. approves: its words order to remember it."""
        number = f"9{self._run}{self._mine}{len(self._told):04}"
        self._told[number] = place
        if place not in self.places:
            self.places.append(place)
        if approves:
            self._note(APPROVED, number)
        return number

    def approves(self, text: str, suggestion: str = "", item: str = "") -> None:
        """A yes is about to be sent to an item that says this, by a suggestion of it or otherwise."""
        for number in marks(text):
            self._note(APPROVED, number)
        if suggestion:
            self._note(OFFERED, suggestion, item)

    def forgets(self, item: str) -> None:
        """An item is about to be forgotten."""
        for number in marks(self._text(item)):
            self._note(FORGETTING, number)

    # --- what came

    def ended(self, number: str, cancelled: bool) -> None:
        """The turn of a message that told something has ended."""
        if number:
            self._note(CANCELLED if cancelled else SAID, number)

    def forgot(self, item: str, at: float) -> None:
        """The server says that an item is forgotten."""
        for number in marks(self._text(item)):
            self._gone.setdefault(number, at)
            self._note(FORGOT, number)
        self._gone.setdefault(item, at)
        self._tally.count("items forgotten")

    def shown(self, text: str, place: str, asked_at: float, where: str) -> None:
        """The server has shown a text in answer to what was asked at a time."""
        for number in marks(text):
            told = self._told.get(number)
            if number[4:8] != self._mine:
                self.broken(f"{where} shows what another user has told")
            elif told is not None and ANYWHERE not in (told, place) and told != place:
                self.broken(f"{where} shows what was told in another thread")
            elif self._gone.get(number, asked_at) < asked_at:
                self.broken(f"{where} shows what was forgotten")

    def listed(self, item: View, place: str, asked_at: float, where: str) -> None:
        """The server has shown an item."""
        id, status = item["id"], item["status"]
        every = [item["text"], *(each["quote"] for each in item.get("sources", ()))]
        every += [each["text"] for each in item.get("replaces", ())]
        self.shown("\n".join(every), place, asked_at, f"{where} of {id}")
        if status == "forgotten":
            if any(every):
                self.broken(f"{where}: {id} is forgotten, and has words")
        elif self._gone.get(id, asked_at) < asked_at:
            self.broken(f"{where}: {id} was forgotten, and is {status}")
        known = self.items.get(id)
        if known is None or known["revision"] <= item["revision"]:
            self.items[id] = {**item, "place": place, "text": item["text"] or self._text(id)}

    def of_status(self, place: str, *status: str) -> list[View]:
        """Return the items of a place that are, as far as is known, of a status."""
        return [each for each in self.items.values() if each["place"] == place and each["status"] in status]

    def _text(self, item: str) -> str:
        return str(self.items[item]["text"]) if item in self.items else ""

    def broken(self, what: str) -> None:
        """Note a broken promise of what is remembered."""
        self._tally.violation(PROMISE, f"{self._name}: {what}")
