"""What a user decides about his own memory, however he says it: over a socket, over HTTP, on the command line.

Nobody else decides: a scope is that of whoever asks, and another one's item is not there. What an item says never
changes: an edit puts another item in its place.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ..errors import Conflict
from ..lang import Lang
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import LIVE, Change, Decision, Forgotten, Item, ItemStatus, MemoryStore
from ..ports.pages import Page, Window
from ..ports.remember import Transcript
from .items import edited
from .repeats import Repeats, wordings
from .states import TRIGGERS, decisions

_CORRECTED: Final = frozenset((*LIVE, "proposed"))


class OwnMemory:
    """A user's items: looked at, decided, corrected, forgotten (implements `agent.ports.remember.MemoryDesk`).

    transcripts: hold what was said, too.
    """

    def __init__(self, store: MemoryStore, clock: Clock, transcripts: Sequence[Transcript] = ()) -> None:
        self._store = store
        self._clock = clock
        self._transcripts = transcripts

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a user's items, of every status but forgotten where none is named."""
        return await self._store.items(scope, window, statuses)

    async def item(self, scope: Scope, id: str) -> tuple[Item, tuple[Change, ...]]:
        """Return an item, and what happened to it and to those that it replaced, oldest first."""
        return await self._store.item(scope, id), await self._store.history(scope, id)

    async def decide(
        self,
        scope: Scope,
        id: str,
        decision: Decision,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Take a user's decision about an item; return it as it is then.

        revision: that the user saw; None is any. replaces: of an accept, the ids that the user was told it replaces.
        """
        now = self._clock.now_ms()
        if decision == "accept":
            return await self._store.accept(scope, id, now, revision, replaces)
        return await self._store.decide(scope, id, TRIGGERS[decision], now, revision)

    def may(self, item: Item) -> tuple[Decision, ...]:
        """Return what its user may decide about an item as it stands now."""
        return decisions(item, self._clock.now_ms())

    async def edit(self, scope: Scope, id: str, text: str, lang: Lang, revision: int | None = None) -> Item:
        """Put a corrected text in an item's place; return the item that has it.

        A proposed item is rejected for one that says the other text, which its user has approved by writing it.
        Raises `agent.errors.BadItem` for a text that cannot be kept. Cancelled, it is corrected whole or not at all.
        """
        now = self._clock.now_ms()
        item = await self._store.item(scope, id)
        if item.status not in _CORRECTED:  # whose times may be over, which is not what is wrong
            raise Conflict("refused")
        return await self._store.replace(scope, id, edited(item, text, lang, now), now, revision)

    async def forget(self, scope: Scope, id: str) -> Forgotten:
        """Take an item, and what was said in its words, out of all that is kept.

        Its words go last: what else says them is looked for by them. So, cancelled or failed on its way, it is
        forgotten wholly when it is forgotten again.
        """
        texts = wordings(await self._store.item(scope, id))
        for transcript in self._transcripts if texts else ():
            await transcript.unsay(scope, Repeats(texts))
        forgotten = await self._store.forget(scope, id, self._clock.now_ms())
        for transcript in self._transcripts:
            await transcript.forget(forgotten.turns, id)
        return forgotten

    async def contradicted(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return what an item would replace, were it accepted now, oldest first."""
        return await self._store.contradicted(scope, id)

    async def unsaid(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return which messages of a thread hold what was forgotten since, in whichever process."""
        return await self._store.unsaid(scope, said)

    async def known(self, scope: Scope) -> bool:
        """Return whether anything is kept of a user's thread."""
        return await self._store.known(scope)
