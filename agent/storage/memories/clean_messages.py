"""Remembers which messages hold nothing forgotten, so that a turn need not ask for those of its history each time.

A message is clean once a read has found it so, or once it was kept: a transaction that keeps an answer looks at its
citations. It stays clean until something is forgotten: by this process, which the store hears of, or by another one,
whose commits are counted (`Database.count_unheard_writes`).
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from ...ports.conversation import Scope

MOST: Final = 10_000
"""Messages that are remembered, some 200 bytes each."""

MessageKey: TypeAlias = tuple[Scope, str]


class CleanMessages:
    """The messages that hold nothing forgotten. `erasures` counts how often something was forgotten here."""

    def __init__(self) -> None:
        self.erasures = 0
        self._unheard: int | None = None  # the count as of which they are clean
        self._messages: dict[MessageKey, None] = {}

    def has_all(self, unheard: int, messages: Iterable[MessageKey]) -> bool:
        """Return whether all of `messages` are known to be clean. `unheard`: the present count of unheard writes."""
        if unheard != self._unheard:
            self._messages.clear()
            self._unheard = unheard
        return all(each in self._messages for each in messages)

    def add(self, unheard: int | None, messages: Iterable[MessageKey]) -> None:
        """Add messages that were found or written clean. `unheard`: the count before that; `None` for unknown, of which
        nothing is added.
        """
        if self._unheard is None:
            self._unheard = unheard
        if unheard is None or unheard != self._unheard:
            return
        self._messages.update(dict.fromkeys(messages))
        while len(self._messages) > MOST:
            del self._messages[next(iter(self._messages))]

    def note_erasure(self) -> None:
        """Forget them all: something was forgotten, and any of them may have held it."""
        self.erasures += 1
        self._messages.clear()
