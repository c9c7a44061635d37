"""Names a place in the changes of a store, by which a reader gets the changes that it has not read yet.

Strategy: transactions of a database server end in any order, so a number alone is no place. A reader that waited for
the oldest transaction would miss what was committed meanwhile, and one that did not wait would miss that transaction.
So a mark also names the transactions that have not ended.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """The place after all changes up to `number`, but for those of the transactions `open`, which are yet to come.

    Numbers grow with time; each of `open` is at most `number`. Without transactions that overlap, `open` is empty.
    """

    number: int = 0
    open: frozenset[int] = frozenset()

    def covers(self, other: "ChangeMark") -> bool:
        """Return whether all changes before the mark `other` come before this one too."""
        return other.number <= self.number and all(
            each > other.number or each in other.open for each in self.open
        )


BEGINNING: Final = ChangeMark()
"""The mark before all changes."""
