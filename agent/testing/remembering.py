"""A memory for tests of what asks it: a few items of any user's, as slow as is wanted, which can be broken.

It follows the item's own table and keeps whose an item is; what it does not do is to find keys and numbers, so that
what an item contradicts is said when it is put in. A change is made in one step, after the waiting.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import trio

from ..errors import Conflict, NotFound
from ..lang import Lang
from ..memory.items import edited
from ..memory.states import change, decisions
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import Change, Decision, Forgotten, Item, ItemStatus, Source
from ..ports.pages import Page, Window
from ..ports.recall import Excerpt, Recalled, Search


def remembered(scope: Scope, id: str = "i1", text: str = "The budget is 50 000 kr.", **other: object) -> Item:
    """Return an item, but for what is said otherwise."""
    made = Item(
        id,
        "fact",
        "accepted",
        ("budget",),
        "s",
        text,
        (),
        scope,
        1_700_000_000_000,
        None,
        None,
        None,
        None,
        1.0,
        (Source("message", "m", quote=text),),
        1_700_000_000_000,
        None,
        None,
        1,
    )
    return replace(made, **other)  # type: ignore[arg-type]


@dataclass
class FakeMemory:
    """A user's memory (implements `agent.ports.remember.MemoryDesk` and `agent.ports.recall.Recaller`).

    wait: seconds that everything takes. fault: what everything raises. threads: of which something is kept.
    contradicts: ids of live items, by that of the item that contradicts them. asked: what was begun. busy, most: how
    much is done at once, and was at the most.
    """

    clock: Clock
    kept: list[Item] = field(default_factory=list)
    wait: float = 0.0
    fault: Exception | None = None
    threads: set[Scope] = field(default_factory=set)
    contradicts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    excerpts: tuple[Excerpt, ...] = ()
    asked: list[tuple[str, Scope]] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    busy: int = 0
    most: int = 0

    async def _take(self, what: str, scope: Scope) -> None:
        self.asked.append((what, scope))
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await trio.sleep(self.wait)
        finally:
            self.busy -= 1
        if self.fault is not None:
            raise self.fault

    def _one(self, scope: Scope, id: str) -> Item:
        found = [each for each in self.kept if each.id == id and _whose(each.scope) == _whose(scope)]
        if not found:
            raise NotFound
        return found[0]

    def _put(self, item: Item) -> Item:
        self.kept = [item if each.id == item.id else each for each in self.kept]
        return item

    def _moved(self, item: Item, trigger: str, revision: int | None = None) -> Item:
        if revision not in (None, item.revision):
            raise Conflict("changed")
        changed = change(item, trigger, self.clock.now_ms(), item.created_at)
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
        await self._take("items", scope)
        mine = [
            (number, each)
            for number, each in enumerate(self.kept, 1)
            if _whose(each.scope) == _whose(scope)
            and number > window.after
            and (each.status in statuses if statuses else each.status != "forgotten")
        ]
        here = mine[: window.limit]
        return Page(tuple(each for _, each in here), here[-1][0] if len(mine) > len(here) else None)

    async def item(self, scope: Scope, id: str) -> tuple[Item, tuple[Change, ...]]:
        """Return an item, and that it was proposed."""
        await self._take("item", scope)
        item = self._one(scope, id)
        return item, (Change(id, item.created_at, "propose", None, "proposed", None),)

    async def decide(
        self,
        scope: Scope,
        id: str,
        decision: Decision,
        revision: int | None = None,
        replaces: Collection[str] | None = None,
    ) -> Item:
        """Take a decision."""
        await self._take(decision, scope)
        item = self._one(scope, id)
        if decision != "accept":
            return self._put(self._moved(item, {"done": "finish"}.get(decision, decision), revision))
        old = self.contradicts.get(id, ())
        if replaces is not None and set(replaces) != set(old):
            raise Conflict("changed")
        made = self._moved(item, "approve", revision)
        for each in old:
            self._put(replace(self._moved(self._one(scope, each), "supersede"), superseded_by=id))
        return self._put(replace(made, supersedes=old[-1] if old else None))

    def may(self, item: Item) -> tuple[Decision, ...]:
        """Return what may be decided about an item."""
        return decisions(item, self.clock.now_ms())

    async def edit(self, scope: Scope, id: str, text: str, lang: Lang, revision: int | None = None) -> Item:
        """Put another text in an item's place."""
        await self._take("edit", scope)
        item = self._one(scope, id)
        draft = edited(item, text, lang, self.clock.now_ms())
        new = f"{id}x"
        closed = self._moved(item, "reject" if item.status == "proposed" else "supersede", revision)
        self._put(replace(closed, superseded_by=new))
        made = remembered(item.scope, new, draft.text, supersedes=id, sources=draft.sources)
        self.kept.append(made)
        return made

    async def forget(self, scope: Scope, id: str) -> Forgotten:
        """Forget an item."""
        await self._take("forget", scope)
        return Forgotten(self._put(self._moved(self._one(scope, id), "forget")))

    async def contradicted(self, scope: Scope, id: str) -> tuple[Item, ...]:
        """Return what an item was said to contradict."""
        await self._take("contradicted", scope)
        return tuple(self._one(scope, each) for each in self.contradicts.get(id, ()))

    async def unsaid(self, scope: Scope, said: Mapping[str, Collection[str]]) -> frozenset[str]:
        """Return that nothing was."""
        await trio.lowlevel.checkpoint()
        return frozenset()

    async def known(self, scope: Scope) -> bool:
        """Return whether anything is kept of a thread."""
        await self._take("known", scope)
        return scope in self.threads or any(each.scope == scope for each in self.kept)

    async def recall(self, search: Search) -> Recalled:
        """Return the excerpts that there are, whatever is looked for."""
        await self._take("recall", search.scope)
        self.searches.append(search)
        return Recalled(self.excerpts, 0.75 if self.excerpts else 0.0)


def _whose(scope: Scope) -> tuple[str, str, str]:
    """Return whose an item is: a user's in every thread of his, nobody's in one thread."""
    return scope.project, scope.user, "" if scope.user else scope.thread
