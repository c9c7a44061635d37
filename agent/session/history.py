"""What was said in one session: the newest exchanges, as many as fit. Pure.

What has to go goes in batches of ten: the first exchange that is kept begins what a model reads of the conversation,
and as long as it stays a service can keep its work on all that follows it. Where ten are nearly all that fits, less
goes.
"""

from collections.abc import Collection

from ..config import CHARACTERS_PER_TOKEN, HISTORY_FREED, HISTORY_LEFT, PROMPT_THREAD_BATCH
from ..ports.conversation import Exchange
from ..ports.remember import Again


class History:
    """The last exchanges within a budget.

    most: tokens of all that is kept, estimated; 0 keeps nothing. kept: the exchanges, oldest first.
    """

    __slots__ = ("_freed", "_left", "_most", "kept")

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._freed = int(most * HISTORY_FREED)
        self.kept: tuple[Exchange, ...] = ()

    def add(self, exchange: Exchange) -> None:
        """Keep an exchange; where it no longer fits, let go of the oldest PROMPT_THREAD_BATCH, as often as it takes.

        Where that would leave fewer than HISTORY_LEFT, the oldest go until HISTORY_FREED of the budget is free. The
        newest stays when it fits; one that never fits ends what was before it: what came before a gap would read as if
        it had just been said.
        """
        kept = (*self.kept, exchange)
        self._left -= _tokens(exchange)
        while self._left < 0 and len(kept) >= PROMPT_THREAD_BATCH + HISTORY_LEFT:
            self._left += sum(map(_tokens, kept[:PROMPT_THREAD_BATCH]))
            kept = kept[PROMPT_THREAD_BATCH:]
        dropped = 0
        if self._left < 0:
            while dropped < len(kept) and self._left < (self._freed if dropped < len(kept) - 1 else 0):
                self._left += _tokens(kept[dropped])
                dropped += 1
        self.kept = kept[dropped:]

    def empty(self) -> "History":
        """Return one with the same budget, of which nothing is used."""
        return History(self._most)

    def forget(
        self, messages: Collection[str], refs: Collection[str] = (), again: Again | None = None
    ) -> bool:
        """Let go of what was said in some messages, and of answers that cite some of `refs`; return whether any was.

        again: and of what says it again.
        """
        left = tuple(
            each
            for each in self.kept
            if not (each.message and each.message in messages)
            and not any(cited in refs for cited in each.cites)
            and not (again is not None and (again.said(each.question) or again.told(each.answer)))
        )
        self._left += sum(map(_tokens, self.kept)) - sum(map(_tokens, left))
        gone = len(left) < len(self.kept)
        self.kept = left
        return gone

    def withdraw(self) -> None:
        """Keep that nothing which the last exchange asked for is told by the next message."""
        if self.kept:
            *others, last = self.kept
            self.kept = (*others, Exchange(last.question, last.answer, True, last.message, last.cites))


def _tokens(exchange: Exchange) -> int:
    return -(-(len(exchange.question) + len(exchange.answer)) // CHARACTERS_PER_TOKEN)
