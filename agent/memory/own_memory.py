"""Applies a user's decisions about his own memory, from a socket, over HTTP or on the command line.

Only the user decides, but for events and metrics, which a rule may accept: each call names the caller's `Scope`, and an
item of another scope raises `NotFound`. The text of an item never changes: an edit puts another item in its place.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ..errors import Conflict
from ..lang import Lang
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import (
    LIVE,
    Candidate,
    Change,
    ForgottenItem,
    Item,
    ItemDecision,
    ItemStatus,
    MemoryStore,
    ProposalOutcome,
)
from ..ports.pages import Page, Window
from ..ports.remember import Transcript
from .items import draft_edit, make_draft
from .repeats import Repeats, item_wordings
from .states import TRIGGERS, allowed_decisions

_CORRECTED: Final = frozenset((*LIVE, "proposed"))


class OwnMemory:
    """Lists, decides, edits and forgets a user's items (implements `agent.ports.remember.MemoryService`).

    `transcripts`: the places that also hold the words of past messages.
    """

    def __init__(self, store: MemoryStore, clock: Clock, transcripts: Sequence[Transcript] = ()) -> None:
        self._store = store
        self._clock = clock
        self._transcripts = transcripts

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a page of a user's items with one of `statuses`; of every status but `forgotten` if none is given."""
        return await self._store.items(scope, window, statuses)

    async def item(self, scope: Scope, id: str) -> tuple[Item, tuple[Change, ...]]:
        """Return an item with its history and that of the items it replaced, oldest change first."""
        return await self._store.item(scope, id), await self._store.history(scope, id)

    async def propose_item(self, scope: Scope, candidate: Candidate) -> ProposalOutcome:
        """Store a proposal, accepted where a rule accepts it, and return its outcome.

        Raises `agent.errors.BadItem` for an item that cannot be kept.
        """
        now = self._clock.now_ms()
        (outcome,) = await self._store.propose_drafts(scope, [make_draft(candidate, now)], now)
        return outcome

    async def decide_item(
        self,
        scope: Scope,
        id: str,
        decision: ItemDecision,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Apply a user's decision about an item and return the item in its new state.

        `revision`: the revision that the user saw; None accepts any. `replaces`: for an accept, the ids of the items
        that the user was told it replaces.
        """
        now = self._clock.now_ms()
        if decision == "accept":
            return await self._store.accept_item(scope, id, now, revision, replaces)
        return await self._store.decide_item(scope, id, TRIGGERS[decision], now, revision)

    def allowed_decisions(self, item: Item) -> tuple[ItemDecision, ...]:
        """Return the decisions that `item` allows its user now."""
        return allowed_decisions(item, self._clock.now_ms())

    async def edit_item(
        self, scope: Scope, id: str, text: str, lang: Lang, revision: int | None = None
    ) -> Item:
        """Replace an item by one with the corrected `text` and return the new item.

        A proposed item is rejected in favour of the new one, which its user approves by writing it. Raises
        `agent.errors.BadItem` for a text that cannot be kept. On cancel the correction is stored whole or not at all.
        """
        now = self._clock.now_ms()
        item = await self._store.item(scope, id)
        if item.status not in _CORRECTED:  # checked first: its times may be over, but its status is the error
            raise Conflict("refused")
        return await self._store.replace_item(scope, id, draft_edit(item, text, lang, now), now, revision)

    async def forget_item(self, scope: Scope, id: str) -> ForgottenItem:
        """Erase an item, and the messages that repeat its words, from the store and the transcripts.

        The item's own text is erased last, because the search for repetitions needs it. So after a cancel or a failure
        half way, a second call completes the work.
        """
        texts = item_wordings(await self._store.item(scope, id))
        for transcript in self._transcripts if texts else ():
            await transcript.forget_repeats(scope, Repeats(texts))
        forgotten = await self._store.forget_item(scope, id, self._clock.now_ms())
        for transcript in self._transcripts:
            await transcript.forget_turns(forgotten.turns, id)
        return forgotten

    async def conflicting_items(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the items that accepting `id` now would replace, oldest first."""
        return await self._store.conflicting_items(scope, id)

    async def forgotten_messages(
        self, scope: Scope, cites_by_message: Mapping[str, Collection[str]]
    ) -> frozenset[str]:
        """Return the messages of a thread with forgotten content, by any process."""
        return await self._store.forgotten_messages(scope, cites_by_message)

    async def is_known(self, scope: Scope) -> bool:
        """Return whether the store holds anything of the scope."""
        return await self._store.is_known(scope)
