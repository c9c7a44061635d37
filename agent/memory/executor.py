"""Makes a proposed item live once its user has confirmed that (implements `agent.ports.action.Executor`)."""

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ActionFailed, ActionUnknown, Conflict, NotFound, StorageFailed
from ..ports.action import Call
from ..ports.clock import Clock
from ..ports.memory import MemoryStore


class RememberExecutor:
    """Carries out `remember`: accepts the item as the user saw it and supersedes the items shown with it."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def run(self, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        """Accept the item that the payload names; return it with the ids that it replaced.

        Repeated calls accept the item once. Raises `ActionFailed` if the item or its conflicts changed after the user
        saw them, and `ActionUnknown` if the store cannot tell the outcome. On cancel after `begin()` the item is
        accepted whole or not at all.
        """
        id = str(call.payload.get("item", ""))
        replaces = [str(each["item"]) for each in call.payload.get("replaces", ())]
        begin()
        try:
            item = await self._store.accept_item(call.scope, id, self._clock.now_ms(), replaces=replaces)
        except (Conflict, NotFound):
            raise ActionFailed("the item changed meanwhile; open the memory list and decide there") from None
        except StorageFailed:
            raise ActionUnknown(
                "the item may or may not be remembered; open the memory list to check"
            ) from None
        return {"item": item.id, "status": item.status, "replaced": replaces}
