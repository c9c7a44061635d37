"""One user's account of the memory: the numbers it asked the server to remember, and where each may be shown.

Pure: the caller reports each request that is about to be sent, and each answer. A number belongs to one user only, so
any text that shows it can be judged by it alone: another user's number, another thread's, or one that was forgotten
before the question. Each number that was told, approved, cancelled or forgotten is noted, and compared with the
server's file at the end (`remembered`).
"""

import re
from collections.abc import Mapping
from itertools import count
from time import time
from typing import Any, Final

from .figures import Tally
from .notes import NoteWriter

APPROVED, SAID, CANCELLED = "memory:approved", "memory:said", "memory:cancelled"
FORGETTING, FORGOT, OFFERED = "memory:forgetting", "memory:forgot", "memory:offered"
MARK: Final = re.compile(r"(?<!\d)9\d{11}(?!\d)")
MOST: Final = 9_999  # numbers of one user
OF_HTTP: Final = 5_000  # added to the numbers of users over HTTP
LIVE: Final = ("accepted", "active", "blocked")
ANYWHERE: Final = ""
"""The place of who is known by a name: what he told is his in every thread."""
_RUNS = count(int(time()))
View = Mapping[str, Any]


def find_numbers(text: str) -> list[str]:
    """Return the users' numbers in `text`."""
    return MARK.findall(text)


def next_run() -> int:
    """Return three digits that tell a crowd's numbers from those of the crowd before."""
    return next(_RUNS) % 1000


class Book:
    """One user's account of its memory.

    `name`: begins the text of each broken promise. `user`: the user's number, up to four digits. `run`: the number of
    its crowd. `items`: by id, as the server last showed them. `off`: the server remembers nothing.
    """

    def __init__(self, name: str, user: int, run: int, tally: Tally, note: NoteWriter | None = None) -> None:
        self.items: dict[str, View] = {}
        self.places: list[str] = []  # threads in which something was told
        self.off = False
        self._name = name
        self._mine = f"{user:04}"
        self._run = f"{run:03}"
        self._tally = tally
        self._note: NoteWriter = note or (lambda event, id, digest="", tool="": None)
        self._told: dict[str, str] = {}  # where each number was told
        self._gone: dict[str, float] = {}  # when each was known to be forgotten, and so each item

    @property
    def full(self) -> bool:
        """Whether the user has no numbers left to tell."""
        return self.off or len(self._told) >= MOST

    # --- requests of the user

    def enter_telling(self, place: str, approves: bool) -> str:
        """Return the number of a message that is about to be sent.

        `approves`: the words of the message order the server to remember it.
        """
        number = f"9{self._run}{self._mine}{len(self._told):04}"
        self._told[number] = place
        if place not in self.places:
            self.places.append(place)
        if approves:
            self._note(APPROVED, number)
        return number

    def enter_approval(self, text: str, suggestion: str = "", item: str = "") -> None:
        """Enter an approval that is about to be sent of an item with `text`, or of its `suggestion`."""
        for number in find_numbers(text):
            self._note(APPROVED, number)
        if suggestion:
            self._note(OFFERED, suggestion, item)

    def enter_forgetting(self, item: str) -> None:
        """Enter that the user is about to forget `item`."""
        for number in find_numbers(self._text(item)):
            self._note(FORGETTING, number)

    # --- answers of the server

    def enter_end(self, number: str, cancelled: bool) -> None:
        """Enter that the turn of the message that told `number` has ended."""
        if number:
            self._note(CANCELLED if cancelled else SAID, number)

    def enter_forgotten(self, item: str, at: float) -> None:
        """Enter the server's answer that `item` is forgotten."""
        for number in find_numbers(self._text(item)):
            self._gone.setdefault(number, at)
            self._note(FORGOT, number)
        self._gone.setdefault(item, at)
        self._tally.count("items forgotten")

    def check_text(self, text: str, place: str, asked_at: float, where: str) -> None:
        """Check a text that the server has shown in answer to a request made at `asked_at`."""
        for number in find_numbers(text):
            told = self._told.get(number)
            if number[4:8] != self._mine:
                self.report("M3", f"{where} shows an item of another user")
            elif told is not None and ANYWHERE not in (told, place) and told != place:
                self.report("M8", f"{where} shows an item of another thread")
            elif self._gone.get(number, asked_at) < asked_at:
                self.report("M2", f"{where} shows a forgotten item")

    def check_item(self, item: View, place: str, asked_at: float, where: str) -> None:
        """Check an item that the server has shown."""
        id, status = item["id"], item["status"]
        every = [item["text"], *(each["quote"] for each in item.get("sources", ()))]
        every += [each["text"] for each in item.get("replaces", ())]
        self.check_text("\n".join(every), place, asked_at, f"{where} of {id}")
        if status == "forgotten":
            if any(every):
                self.report("M2", f"{where}: {id} is forgotten, and has words")
        elif self._gone.get(id, asked_at) < asked_at:
            self.report("M2", f"{where}: {id} was forgotten, and is {status}")
        known = self.items.get(id)
        if known is None or known["revision"] <= item["revision"]:
            self.items[id] = {**item, "place": place, "text": item["text"] or self._text(id)}

    def of_status(self, place: str, *status: str) -> list[View]:
        """Return the items of a place that last had one of these statuses."""
        return [each for each in self.items.values() if each["place"] == place and each["status"] in status]

    def _text(self, item: str) -> str:
        return str(self.items[item]["text"]) if item in self.items else ""

    def report(self, promise: str, text: str) -> None:
        """Note a broken promise of the memory. `text`: how it was broken."""
        self._tally.violation(promise, f"{self._name}: {text}")
