"""A fake memory for tests of its callers: a few items of any user, with a delay and a fault on demand.

`FakeMemory` follows the state table of items and knows the owner of each item. It computes no keys and numbers, so a
test states the conflicts of an item (`contradicts`). A change is made in one step, after the delay.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import trio

from ..errors import Conflict, NotFound
from ..lang import Lang
from ..memory.items import draft_edit, make_draft
from ..memory.states import allowed_decisions, change_item
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import (
    Candidate,
    Change,
    ForgottenItem,
    Item,
    ItemDecision,
    ItemStatus,
    ProposalOutcome,
    Source,
)
from ..ports.pages import Page, Window
from ..ports.recall import Excerpt, RecallQuery, RecallResult


def make_item(scope: Scope, id: str = "i1", text: str = "The budget is 50 000 kr.", **other: object) -> Item:
    """Return an item with these fields; the fields without a value in `other` have defaults."""
    item = Item(
        id=id,
        type="fact",
        status="accepted",
        key=("budget",),
        slot="s",
        text=text,
        numbers=(),
        scope=scope,
        valid_from=1_700_000_000_000,
        valid_to=None,
        expires_at=None,
        supersedes=None,
        superseded_by=None,
        confidence=1.0,
        sources=(Source("message", "m", quote=text),),
        created_at=1_700_000_000_000,
        decided_at=None,
        decided_by=None,
        revision=1,
    )
    return replace(item, **other)  # type: ignore[arg-type]


@dataclass(kw_only=True)
class FakeMemory:
    """A user's memory (implements `agent.ports.remember.MemoryService` and `agent.ports.recall.Recaller`).

    `kept`: the items. `wait`: seconds that every call takes. `fault`: the exception that every call raises. `threads`:
    scopes that are known without any item. `contradicts`: ids of live items, by the id of the item that contradicts
    them. `excerpts`: the result of every recall. `asked`: the calls that were begun, with their scopes. `busy`, `most`:
    the number of calls in progress, and its maximum.
    """

    clock: Clock
    kept: list[Item] = field(default_factory=list)
    wait: float = 0.0
    fault: Exception | None = None
    threads: set[Scope] = field(default_factory=set)
    contradicts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    excerpts: tuple[Excerpt, ...] = ()
    asked: list[tuple[str, Scope]] = field(default_factory=list)
    searches: list[RecallQuery] = field(default_factory=list)
    busy: int = 0
    most: int = 0

    async def _begin_call(self, call: str, scope: Scope) -> None:
        self.asked.append((call, scope))
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await trio.sleep(self.wait)
        finally:
            self.busy -= 1
        if self.fault is not None:
            raise self.fault

    def _find_item(self, scope: Scope, id: str) -> Item:
        matches = [
            each for each in self.kept if each.id == id and _owner_key(each.scope) == _owner_key(scope)
        ]
        if not matches:
            raise NotFound
        return matches[0]

    def _store_item(self, item: Item) -> Item:
        self.kept = [item if each.id == item.id else each for each in self.kept]
        return item

    def _change_status(self, item: Item, trigger: str, revision: int | None = None) -> Item:
        if revision not in (None, item.revision):
            raise Conflict("changed")
        changed = change_item(item, trigger, self.clock.now_ms(), item.created_at)
        if changed is None:
            raise Conflict("refused")
        return replace(
            item,
            status=changed.status,
            revision=item.revision + 1,
            text="" if changed.erases else item.text,
            sources=() if changed.erases else item.sources,
            decided_by=changed.decided_by,
        )

    async def items(self, scope: Scope, window: Window, statuses: Collection[ItemStatus] = ()) -> Page[Item]:
        """Return a page of a scope's items."""
        await self._begin_call("items", scope)
        owned = [
            (number, each)
            for number, each in enumerate(self.kept, 1)
            if _owner_key(each.scope) == _owner_key(scope)
            and number > window.after
            and (each.status in statuses if statuses else each.status != "forgotten")
        ]
        page = owned[: window.limit]
        return Page(tuple(each for _, each in page), page[-1][0] if len(owned) > len(page) else None)

    async def item(self, scope: Scope, id: str) -> tuple[Item, tuple[Change, ...]]:
        """Return an item, with its proposal as the only change."""
        await self._begin_call("item", scope)
        item = self._find_item(scope, id)
        return item, (
            Change(item=id, at=item.created_at, trigger="propose", before=None, after="proposed", by=None),
        )

    async def propose_item(self, scope: Scope, candidate: Candidate) -> ProposalOutcome:
        """Keep a proposal that waits for its user. Raises `agent.errors.BadItem` if the candidate is not sound."""
        await self._begin_call("propose_item", scope)
        draft = make_draft(candidate, self.clock.now_ms())
        item = make_item(
            scope,
            id=f"p{len(self.kept)}",
            text=draft.text,
            type=draft.type,
            status="proposed",
            key=draft.key,
            sources=draft.sources,
            expires_at=draft.expires_at,
        )
        self.kept = [*self.kept, item]
        return ProposalOutcome(item, new=True)

    async def decide_item(
        self,
        scope: Scope,
        id: str,
        decision: ItemDecision,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Carry out a decision about an item."""
        await self._begin_call(decision, scope)
        item = self._find_item(scope, id)
        if decision != "accept":
            return self._store_item(
                self._change_status(item, {"done": "finish"}.get(decision, decision), revision)
            )
        old = self.contradicts.get(id, ())
        if replaces is not None and set(replaces) != set(old):
            raise Conflict("changed")
        accepted = self._change_status(item, "approve", revision)
        for each in old:
            self._store_item(
                replace(self._change_status(self._find_item(scope, each), "supersede"), superseded_by=id)
            )
        return self._store_item(replace(accepted, supersedes=old[-1] if old else None))

    def allowed_decisions(self, item: Item) -> tuple[ItemDecision, ...]:
        """Return the decisions that `item` takes."""
        return allowed_decisions(item, self.clock.now_ms())

    async def edit_item(
        self, scope: Scope, id: str, text: str, lang: Lang, revision: int | None = None
    ) -> Item:
        """Put a new item with another text in an item's place."""
        await self._begin_call("edit", scope)
        item = self._find_item(scope, id)
        draft = draft_edit(item, text, lang, self.clock.now_ms())
        new = f"{id}x"
        closed = self._change_status(item, "reject" if item.status == "proposed" else "supersede", revision)
        self._store_item(replace(closed, superseded_by=new))
        new_item = make_item(item.scope, new, draft.text, supersedes=id, sources=draft.sources)
        self.kept.append(new_item)
        return new_item

    async def forget_item(self, scope: Scope, id: str) -> ForgottenItem:
        """Forget an item."""
        await self._begin_call("forget", scope)
        return ForgottenItem(self._store_item(self._change_status(self._find_item(scope, id), "forget")))

    async def conflicting_items(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return the items that `contradicts` names for an item."""
        await self._begin_call("contradicted", scope)
        return tuple(self._find_item(scope, each) for each in self.contradicts.get(id, ()))

    async def forgotten_messages(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return no messages: none was forgotten."""
        await trio.lowlevel.checkpoint()
        return frozenset()

    async def is_known(self, scope: Scope) -> bool:
        """Return whether `threads` holds the scope."""
        await self._begin_call("known", scope)
        return scope in self.threads or any(each.scope == scope for each in self.kept)

    async def recall(self, search: RecallQuery) -> RecallResult:
        """Return `excerpts`, for any search."""
        await self._begin_call("recall", search.scope)
        self.searches.append(search)
        return RecallResult(excerpts=self.excerpts, score=0.75 if self.excerpts else 0.0)

    async def standing_ids(self, scope: Scope, ids: Collection[str], at: int) -> frozenset[str]:
        """Return all of these ids."""
        await self._begin_call("standing", scope)
        return frozenset(ids)


def _owner_key(scope: Scope) -> tuple[str, str, str]:
    """Return the key of the owner of a scope.

    A named user has one key for all threads, and a user without a name has a key for each thread.
    """
    return scope.project, scope.user, "" if scope.user else scope.thread
