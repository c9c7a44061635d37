"""What the clients were told, what took effect and what the ledger on disk says: do they agree?

During a soak every confirm, every end that a client was told and every effect of the webhook is a line of a file, so
that nothing is held; when all have left and the server has gone, the files are read, with the ledger's rows as they
stand there. A row that still says claimed was an action whose outcome was lost.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

EFFECT = "effect"
# For what a client was told: the row there may be (None: no row), and the least and the most effects.
AGREES: dict[str | None, tuple[tuple[str | None, ...], int, int]] = {
    "done": (("done",), 1, 1),
    "failed": (("failed", None), 0, 0),
    "unknown": (("unknown",), 0, 1),
    "cancelled": (("cancelled", None), 0, 0),
    "closed": (("cancelled", None), 0, 0),
    None: (("done", "failed", "unknown", "cancelled", None), 0, 1),
}
# And for what a row says, whoever was told.
EFFECTS: dict[str | None, tuple[int, int]] = {
    "done": (1, 1),
    "failed": (0, 0),
    "unknown": (0, 1),
    "cancelled": (0, 0),
    None: (0, 0),
}


@dataclass(slots=True)
class Action:
    """One suggestion that was confirmed, told of or carried out."""

    confirmed: bool = False
    told: str | None = None
    effects: int = 0


class Notes:
    """The lines of one soak, on their way into a file."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def note(self, what: str, id: str) -> None:
        """Note what became of a suggestion."""
        self._file.write(f"{what} {id}\n")

    def effect(self, id: str) -> None:
        """Note an effect."""
        self.note(EFFECT, id)


def read(lines: Iterable[str]) -> dict[str, Action]:
    """Return the suggestions that the lines of notes tell of, by id; of two ends the first counts."""
    actions: dict[str, Action] = {}
    for line in lines:
        what, _, id = line.strip().partition(" ")
        action = actions.setdefault(id, Action())
        if what == "confirmed":
            action.confirmed = True
        elif what == EFFECT:
            action.effects += 1
        elif action.told is None:
            action.told = what
    return actions


def disagreements(actions: Mapping[str, Action], rows: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    """Yield each broken promise and its words. rows: status by suggestion id; None, there is no ledger to read."""
    for id in actions.keys() | (rows or {}).keys():
        action = actions.get(id, Action())
        if action.effects > 1:
            yield "I4", f"{id} took effect {action.effects} times"
        if not action.confirmed and (action.effects or id in (rows or {})):
            yield "I4", f"{id} was never confirmed, and took effect {action.effects} times"
        allowed, least, most = AGREES[action.told]
        if not least <= min(action.effects, 1) <= most:
            yield "ledger", f"{id} is told {action.told}, and took effect {action.effects} times"
        if rows is None:
            continue
        row = rows.get(id)
        if row == "claimed":
            yield "ledger", f"{id} is told {action.told}, and is still claimed"
        elif row not in allowed:
            yield "ledger", f"{id} is told {action.told}, and its row says {row}"
        elif not EFFECTS[row][0] <= min(action.effects, 1) <= EFFECTS[row][1]:
            yield "ledger", f"{id}: its row says {row}, and it took effect {action.effects} times"


def rows_since(file: Path, claimed_at: int) -> dict[str, str]:
    """Return the statuses in a ledger's file, by suggestion id, of what was claimed since (Unix ms). It blocks.

    The file is read as it is: opening it as a ledger would settle what was left claimed.
    """
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return dict(
            connection.execute(
                "SELECT suggestion_id, status FROM actions WHERE claimed_at >= ?", (claimed_at,)
            ).fetchall()
        )


def totals(actions: Mapping[str, Action], rows: Mapping[str, str] | None) -> dict[str, object]:
    """Return the figures of a reckoning."""
    told = Counter(str(action.told or "nobody") for action in actions.values() if action.confirmed)
    figures: dict[str, object] = {
        "confirmed": sum(action.confirmed for action in actions.values()),
        "told": dict(sorted(told.items())),
        "effects": sum(action.effects for action in actions.values()),
    }
    if rows is not None:
        figures["rows"] = dict(sorted(Counter(rows.values()).items()))
    return figures
