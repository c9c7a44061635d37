"""Makes a proposed item live once its user has confirmed that (implements `agent.ports.action.Executor`)."""

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ActionFailed, ActionUnknown, Conflict, NotFound, StorageFailed
from ..ports.action import Call
from ..ports.clock import Clock
from ..ports.memory import MemoryStore


class RememberExecutor:
    """Carries out `remember`: what its user saw is accepted, and replaces what he was told it replaces."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Accept the item that the payload names; return it with what it replaced.

        An item is accepted once, however often that is tried. Raises `ActionFailed` where it, or what it contradicts,
        is not what its user saw any more, and `ActionUnknown` where the store does not say what became of it.
        Cancelled after `begin()`, it is accepted whole or not at all.
        """
        id = str(call.payload.get("item", ""))
        replaces = [str(each["item"]) for each in call.payload.get("replaces", ())]
        begin()
        try:
            item = await self._store.accept(call.scope, id, self._clock.now_ms(), replaces=replaces)
        except (Conflict, NotFound):
            raise ActionFailed("it changed meanwhile; look at what is remembered, and decide there") from None
        except StorageFailed:
            raise ActionUnknown("it may be remembered or not; look at what is remembered") from None
        return {"item": item.id, "status": item.status, "replaced": replaces}
