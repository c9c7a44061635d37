"""The connection cap."""

import trio
import trio.testing

from agent.server.limits import Cap


def test_no_more_than_its_size_are_taken() -> None:
    """One that is given back can be taken again."""
    cap = Cap(2)
    assert [cap.acquire(), cap.acquire(), cap.acquire()] == [True, True, False]
    cap.release()
    assert cap.used == 1
    assert cap.acquire()


async def test_who_waits_for_the_last_one_waits_for_all() -> None:
    """Also when one is taken again in between."""
    cap = Cap(2)
    await cap.wait_unused()
    cap.acquire()
    async with trio.open_nursery() as nursery:
        done: list[bool] = []

        async def wait() -> None:
            await cap.wait_unused()
            done.append(True)

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        cap.release()
        cap.acquire()
        await trio.testing.wait_all_tasks_blocked()
        assert done == []
        cap.release()
    assert done == [True]
