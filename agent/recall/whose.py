"""Whose a place is: which places a search goes over, and who spoke there.

Strategy: a place is a scope that something was said in, by its number. It is seen by three names, one for each reach of
a search; which places have a name, and who spoke there, is known as it comes, so that no search looks at any other's.
"""

import json
from functools import lru_cache
from typing import Final

from agent.ports.conversation import Scope
from agent.ports.recall import Reach

REACHES: Final[tuple[Reach, ...]] = ("scope", "thread", "user")


class _Seen:
    """The places of one name, and who spoke there; both only grow."""

    __slots__ = ("_frozen", "places", "speakers")

    def __init__(self) -> None:
        self.places: dict[int, None] = {}
        self.speakers: dict[str, None] = {}
        self._frozen: tuple[frozenset[int], frozenset[str]] = (frozenset(), frozenset())

    def frozen(self) -> tuple[frozenset[int], frozenset[str]]:
        """Return both as they are; the same ones as long as nothing came."""
        places, speakers = self._frozen
        if len(places) != len(self.places) or len(speakers) != len(self.speakers):
            self._frozen = frozenset(self.places), frozenset(self.speakers)
        return self._frozen


_NOBODY: Final = _Seen()


class Whose:
    """The places that there are, by number, 0 on."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self._names: list[tuple[str, ...]] = []  # of each place, by REACHES
        self._numbers: dict[Scope, int] = {}
        self._seen: dict[tuple[Reach, str], _Seen] = {}

    def place(self, scope: Scope) -> int:
        """Return the number of a scope, which has one from now on."""
        number = self._numbers.get(scope)
        if number is None:
            number = self._numbers[scope] = len(self.scopes)
            self.scopes.append(scope)
            self._names.append(tuple([name_of(scope, reach) for reach in REACHES]))
        return number

    def spoke(self, place: int, speaker: str) -> None:
        """Take that somebody spoke in a place."""
        for key in zip(REACHES, self._names[place], strict=True):
            seen = self._seen.get(key)
            if seen is None:
                seen = self._seen[key] = _Seen()
            seen.places[place] = None
            seen.speakers[speaker] = None

    def names(self, place: int) -> tuple[str, ...]:
        """Return what a place is called, by REACHES."""
        return self._names[place]

    def seen(self, reach: Reach, scope: Scope) -> tuple[frozenset[int], frozenset[str]]:
        """Return the places that a search goes over, and who spoke there."""
        return self._seen.get((reach, name_of(scope, reach)), _NOBODY).frozen()


@lru_cache(maxsize=1024)
def name_of(scope: Scope, reach: Reach) -> str:
    """Return what a scope is called as far as a search goes: two of one name are seen together."""
    thread = "" if reach == "user" or (reach == "scope" and scope.user) else scope.thread
    return json.dumps((scope.project, scope.user, thread))  # whatever marks they have, no two are one
