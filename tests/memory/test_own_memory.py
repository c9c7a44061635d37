"""What a user decides about his own memory."""

import pytest

from agent.errors import Conflict
from agent.memory.own_memory import OwnMemory
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, accepted, budget, proposed


@pytest.mark.parametrize("how", ["superseded", "rejected", "forgotten"])
async def test_what_has_ended_is_not_corrected(how: str) -> None:
    """That is said of its state, whatever its times are by now."""
    async with open_database_memory(None, inline, Noon()) as memory:
        desk = OwnMemory(memory, Noon())
        if how == "rejected":
            item = (await proposed(memory, budget(50))).item
            await desk.decide_item(ANA, item.id, "reject")
        else:
            item = await accepted(memory, budget(50), at=NOW - 1)
        if how == "superseded":
            await memory.replace_item(ANA, item.id, budget(60), NOW)
        elif how == "forgotten":
            await desk.forget_item(ANA, item.id)
        with pytest.raises(Conflict, match="refused"):
            await desk.edit_item(ANA, item.id, "The budget of atlas is 70 SEK", "en")
        assert (await memory.item(ANA, item.id)).status == how
