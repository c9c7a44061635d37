"""Numbers the scopes of messages, and finds those in a search's reach with their speakers.

Strategy: a place is the number of a scope with messages. Each place has three names, one for each reach of a search.
The places and speakers of a name are collected as messages come, so that no search looks at another user's places.
"""

import json
from functools import lru_cache
from typing import Final

from agent.ports.conversation import Scope
from agent.ports.recall import Reach

REACHES: Final[tuple[Reach, ...]] = ("scope", "thread", "user")


class _ReachView:
    """The places of one name and their speakers; both only grow."""

    __slots__ = ("_frozen", "places", "speakers")

    def __init__(self) -> None:
        self.places: dict[int, None] = {}
        self.speakers: dict[str, None] = {}
        self._frozen: tuple[frozenset[int], frozenset[str]] = (frozenset(), frozenset())

    def freeze(self) -> tuple[frozenset[int], frozenset[str]]:
        """Return both as frozen sets; the same objects until something is added."""
        places, speakers = self._frozen
        if len(places) != len(self.places) or len(speakers) != len(self.speakers):
            self._frozen = frozenset(self.places), frozenset(self.speakers)
        return self._frozen


_EMPTY_VIEW: Final = _ReachView()


class PlaceDirectory:
    """The places, by number, from 0."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self._names: list[tuple[str, ...]] = []  # of each place, by REACHES
        self._numbers: dict[Scope, int] = {}
        self._views: dict[tuple[Reach, str], _ReachView] = {}

    def place(self, scope: Scope) -> int:
        """Return the number of a scope, adding it if it is new."""
        number = self._numbers.get(scope)
        if number is None:
            number = self._numbers[scope] = len(self.scopes)
            self.scopes.append(scope)
            self._names.append(tuple([reach_name(scope, reach) for reach in REACHES]))
        return number

    def find(self, scope: Scope) -> int | None:
        """Return the number of a scope, or None for one without messages."""
        return self._numbers.get(scope)

    def add_speaker(self, place: int, speaker: str) -> None:
        """Record that `speaker` spoke in `place`."""
        for key in zip(REACHES, self._names[place], strict=True):
            view = self._views.get(key)
            if view is None:
                view = self._views[key] = _ReachView()
            view.places[place] = None
            view.speakers[speaker] = None

    def names(self, place: int) -> tuple[str, ...]:
        """Return the names of a place, in the order of REACHES."""
        return self._names[place]

    def view_of(self, reach: Reach, scope: Scope) -> tuple[frozenset[int], frozenset[str]]:
        """Return the places in a search's reach, and the names of their speakers."""
        return self._views.get((reach, reach_name(scope, reach)), _EMPTY_VIEW).freeze()


@lru_cache(maxsize=1024)
def reach_name(scope: Scope, reach: Reach) -> str:
    """Return the name of a scope for a reach: scopes of one name are searched together."""
    thread = "" if reach == "user" or (reach == "scope" and scope.user) else scope.thread
    return json.dumps(
        (scope.project, scope.user, thread)
    )  # JSON quoting keeps different scopes apart, whatever characters they have
