"""The exchanges of one session: the newest, as many as fit. Pure.

Exchanges are dropped in batches of ten: the first exchange begins the conversation in a model's prompt, and as long as
it stays the same a service can reuse its cached work on all that follows. Where ten are nearly all that fits, fewer
are dropped.
"""

from collections.abc import Collection, Mapping

from ..config import CHARACTERS_PER_TOKEN, PROMPT_THREAD_BATCH
from ..ports.conversation import Exchange
from ..ports.remember import RepeatMatcher

HISTORY_LEFT = 4  # exchanges that must be left when PROMPT_THREAD_BATCH go; otherwise ...
HISTORY_FREED = 0.25  # ... this share of a conversation's bound is freed of its oldest exchanges

_NONE_PLAYED: Mapping[str, int] = {}


class History:
    """The last exchanges within a budget.

    `most`: the budget in tokens, estimated; 0 keeps nothing. `exchanges`: oldest first. `played`: by message, how many
    characters of its spoken answer the client has played.
    """

    __slots__ = ("_freed", "_most", "_tokens_left", "exchanges", "played")

    def __init__(self, most: int) -> None:
        self._most = most
        self._tokens_left = most
        self._freed = int(most * HISTORY_FREED)
        self.exchanges: tuple[Exchange, ...] = ()
        self.played: Mapping[str, int] = _NONE_PLAYED

    def add(self, exchange: Exchange) -> None:
        """Add an exchange; when it does not fit, drop the oldest `PROMPT_THREAD_BATCH`, as often as needed.

        When that would leave fewer than `HISTORY_LEFT`, the oldest are dropped until `HISTORY_FREED` of the budget is
        free. The newest stays when it fits. An exchange that is larger than the budget empties the history: exchanges
        before a gap would read as if they had just been said.
        """
        exchanges = (*self.exchanges, exchange)
        self._tokens_left -= _count_tokens(exchange)
        while self._tokens_left < 0 and len(exchanges) >= PROMPT_THREAD_BATCH + HISTORY_LEFT:
            self._tokens_left += sum(map(_count_tokens, exchanges[:PROMPT_THREAD_BATCH]))
            exchanges = exchanges[PROMPT_THREAD_BATCH:]
        dropped = 0
        if self._tokens_left < 0:
            while dropped < len(exchanges) and self._tokens_left < (
                self._freed if dropped < len(exchanges) - 1 else 0
            ):
                self._tokens_left += _count_tokens(exchanges[dropped])
                dropped += 1
        self.exchanges = exchanges[dropped:]

    def make_empty(self) -> "History":
        """Return an empty history with the same budget."""
        return History(self._most)

    def forget_messages(
        self, messages: Collection[str], refs: Collection[str] = (), repeats: RepeatMatcher | None = None
    ) -> bool:
        """Drop the exchanges of `messages`, those that cite any of `refs`, and those that match `repeats`.

        Return whether any was dropped.
        """
        remaining = tuple(
            each
            for each in self.exchanges
            if not (each.message and each.message in messages)
            and not any(cited in refs for cited in each.cites)
            and not (
                repeats is not None
                and (repeats.matches_user_text(each.question) or repeats.matches_agent_text(each.answer))
            )
        )
        self._tokens_left += sum(map(_count_tokens, self.exchanges)) - sum(map(_count_tokens, remaining))
        any_dropped = len(remaining) < len(self.exchanges)
        self.exchanges = remaining
        return any_dropped

    def withdraw_last(self) -> None:
        """Mark the last exchange as withdrawn, so that the next message cannot complete its request."""
        if self.exchanges:
            *others, last = self.exchanges
            self.exchanges = (*others, Exchange(last.question, last.answer, True, last.message, last.cites))

    def note_played(self, message: str, end: int) -> None:
        """Note that the client has played the first `end` characters of the answer to `message`.

        The turn of `message` may be in progress still.
        """
        messages = {each.message for each in self.exchanges}
        self.played = {each: place for each, place in self.played.items() if each in messages} | {
            message: end
        }


def _count_tokens(exchange: Exchange) -> int:
    return -(-(len(exchange.question) + len(exchange.answer)) // CHARACTERS_PER_TOKEN)
