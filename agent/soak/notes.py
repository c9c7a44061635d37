"""The notes of a soak: one line for each approval by a user, each end that the server reported, and each effect.

Notes go to a file, so the soak holds none of them; the file is read when all is over. An approval is of certain
arguments, which are known by their hash. The hash is computed here anew, so that the check shares no code with the
code under test.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol, TextIO

CONFIRMED, WITHDRAWN, EFFECT = "confirmed", "withdrawn", "effect"
REMEMBER = "remember"  # the action whose effect is that an item is live, which no webhook sees
OF_MEMORY = "memory:"  # prefix of the notes of the memory, which `book` writes


class NoteWriter(Protocol):
    """Takes an event of a call.

    `CONFIRMED` and `WITHDRAWN` are for an approval of hashed arguments, `EFFECT` for an effect; any other word is its
    reported end.
    """

    def __call__(self, event: str, id: str, digest: str = "", tool: str = "") -> None:
        """Note `event` of the call `id`."""
        ...


def digest_of(arguments: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of arguments of text and whole numbers, as JSON with sorted keys."""
    written = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(written.encode()).hexdigest()


@dataclass(slots=True)
class CallNotes:
    """One call that was confirmed, reported or carried out.

    `approvals`: how many approvals of arguments of each hash were not refused; "" is an approval of the present
    arguments. `reported_end`: the end that the server reported. `run_digests`: the hashes of the arguments of its
    effects. `tools`: the names of its tool or action, as it was approved or took effect.
    """

    approvals: Counter[str] = field(default_factory=Counter)
    reported_end: str | None = None
    effects: int = 0
    run_digests: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)

    @property
    def is_confirmed(self) -> bool:
        """Whether any approval stands."""
        return any(count > 0 for count in self.approvals.values())

    def allows(self, digest: str) -> bool:
        """Return whether arguments of the hash `digest` were approved; "" stands for unknown arguments."""
        return not digest or self.approvals[""] > 0 or self.approvals[digest] > 0


class NoteFile:
    """The notes of one soak, on their way into a file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def note(self, event: str, id: str, digest: str = "", tool: str = "") -> None:
        """Note an `event` of a call. `WITHDRAWN`: an approval of arguments of this hash was refused."""
        self._file.write(f"{event} {id} {digest or '-'} {tool or '-'}\n")

    def effect(self, id: str, digest: str = "", tool: str = "") -> None:
        """Note an effect, with the hash of its arguments."""
        self.note(EFFECT, id, digest, tool)


def read_notes(lines: Iterable[str]) -> dict[str, CallNotes]:
    """Return the calls in the lines of notes, by id; of two ends the first counts."""
    actions: dict[str, CallNotes] = {}
    for line in lines:
        if line.startswith(OF_MEMORY):
            continue
        event, id, digest, tool = (*line.split(), "-", "-")[:4]
        digest, tool = digest.strip("-"), tool.strip("-")
        action = actions.setdefault(id, CallNotes())
        action.tools |= {tool} - {""}
        if event == CONFIRMED:
            action.approvals[digest] += 1
        elif event == WITHDRAWN:
            action.approvals[digest] -= 1
        elif event == EFFECT:
            action.effects += 1
            action.run_digests |= {digest} - {""}
        elif action.reported_end is None:
            action.reported_end = event
    return actions
