"""Whether a message holds something forgotten is asked once, and again once something may have been forgotten."""

from pathlib import Path

import pytest
import trio
import trio.testing

from agent.storage.memories import clean_messages
from agent.storage.memories.clean_messages import CleanMessages
from agent.storage.memories.store import DatabaseMemory, open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, OTHERS, accepted, an_exchange, budget

SAID = {"m1": (), "m2": ("i1",)}


async def followed(store: DatabaseMemory) -> None:
    """Have the writes of a store followed, and keep two exchanges, of which one cites an item."""
    await store.listen_for_changes(lambda after, changes: None)
    await accepted(store, budget(50, message="m0"))
    await store.keep_exchanges([an_exchange("m1"), an_exchange("m2", "And?", "50 SEK", cites=("i1",))], NOW)


def reads(store: DatabaseMemory, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The reads of a store from now on."""
    found: list[object] = []
    real = store._reader.read

    async def read(work: object) -> object:
        found.append(work)
        return await real(work)  # type: ignore[arg-type]

    monkeypatch.setattr(store._reader, "read", read)
    return found


async def test_what_was_kept_here_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until this process forgets something; another thread's message of the same id is another one."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await followed(store)
        asked = reads(store, monkeypatch)
        assert await store.forgotten_messages(ANA, SAID) == frozenset()
        assert asked == []
        await store.forgotten_messages(OTHERS[0], SAID)
        assert len(asked) == 1
        await store.forget_item(ANA, "i1", NOW)
        assert await store.forgotten_messages(ANA, SAID) == {"m2"}
        assert await store.forgotten_messages(ANA, {"m1": ()}) == frozenset()


async def test_another_process_may_have_forgotten_it(tmp_path: Path) -> None:
    """Its commit is seen by the next question, however clean the message was before."""
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await followed(store)
        async with open_database_memory(tmp_path, inline, Noon()) as other:
            assert await store.forgotten_messages(ANA, SAID) == frozenset()
            await other.forget_item(ANA, "i1", NOW)
            assert await store.forgotten_messages(ANA, SAID) == {"m2"}


async def test_what_is_read_while_something_is_forgotten_is_not_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read may be of the state before."""
    goes_on = trio.Event()
    async with open_database_memory(tmp_path, inline, Noon()) as store:
        await followed(store)
        store._clean.note_erasure()  # so that it is read
        real = store._reader.read

        async def slow(work: object) -> object:
            result: object = await real(work)  # type: ignore[arg-type]
            await goes_on.wait()
            return result

        async with trio.open_nursery() as nursery:
            with monkeypatch.context() as patch:
                patch.setattr(store._reader, "read", slow)
                nursery.start_soon(store.forgotten_messages, ANA, SAID)
                await trio.testing.wait_all_tasks_blocked()
            await store.forget_item(ANA, "i1", NOW)
            goes_on.set()
        assert await store.forgotten_messages(ANA, SAID) == {"m2"}


def test_counts_decide_and_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found as of another count is not clean as of this one."""
    monkeypatch.setattr(clean_messages, "MOST", 2)
    clean, keys = CleanMessages(), [(ANA, f"m{n}") for n in range(3)]
    clean.add(None, keys)
    assert not clean.has_all(1, keys[:1])
    clean.add(0, keys)
    assert not clean.has_all(1, keys[:1])
    clean.add(1, keys)
    assert not clean.has_all(1, keys[:1])
    assert clean.has_all(1, keys[1:])
    assert not clean.has_all(2, keys[1:])
