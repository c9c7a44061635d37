"""What is written down during a soak: one line for each word of a user's, each end that was told, and each effect.

So nothing is held; when all is over the file is read. A user's yes is to certain arguments, which are known by their
hash. It is made here anew, so that what checks shares no code with what is checked.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol, TextIO

CONFIRMED, WITHDRAWN, EFFECT = "confirmed", "withdrawn", "effect"
REMEMBER = "remember"  # the action whose effect is that an item is live, which no webhook sees
OF_MEMORY = "memory:"  # what a note begins with that is of what is remembered: see `book`


class Note(Protocol):
    """Takes what became of a call: CONFIRMED or WITHDRAWN, a yes to arguments of a hash; EFFECT; or its end as told."""

    def __call__(self, what: str, id: str, digest: str = "", tool: str = "") -> None:
        """Note it."""
        ...


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of arguments of text and whole numbers, as JSON in the order of their keys."""
    written = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(written.encode()).hexdigest()


@dataclass(slots=True)
class Action:
    """One call that was confirmed, told of or carried out.

    said: how often somebody said yes to arguments of each hash, and was not refused; "" is a yes to what they are.
    ran: the hashes of the arguments of its effects. tools: what they were called.
    """

    said: Counter[str] = field(default_factory=Counter)
    told: str | None = None
    effects: int = 0
    ran: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)

    @property
    def confirmed(self) -> bool:
        """Whether anybody said yes to it."""
        return any(count > 0 for count in self.said.values())

    def allows(self, digest: str) -> bool:
        """Whether somebody said yes to arguments of a hash; "" are such that are not known."""
        return not digest or self.said[""] > 0 or self.said[digest] > 0


class Notes:
    """The lines of one soak, on their way into a file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def note(self, what: str, id: str, digest: str = "", tool: str = "") -> None:
        """Note what became of a call. WITHDRAWN: a yes to arguments of this hash was refused."""
        self._file.write(f"{what} {id} {digest or '-'} {tool or '-'}\n")

    def effect(self, id: str, digest: str = "", tool: str = "") -> None:
        """Note an effect, of arguments of a hash."""
        self.note(EFFECT, id, digest, tool)


def read(lines: Iterable[str]) -> dict[str, Action]:
    """Return the calls that the lines of notes tell of, by id; of two ends the first counts."""
    actions: dict[str, Action] = {}
    for line in lines:
        if line.startswith(OF_MEMORY):
            continue
        what, id, digest, tool = (*line.split(), "-", "-")[:4]
        digest, tool = digest.strip("-"), tool.strip("-")
        action = actions.setdefault(id, Action())
        if what == CONFIRMED:
            action.said[digest] += 1
        elif what == WITHDRAWN:
            action.said[digest] -= 1
        elif what == EFFECT:
            action.effects += 1
            action.ran |= {digest} - {""}
            action.tools |= {tool} - {""}
        elif action.told is None:
            action.told = what
    return actions
