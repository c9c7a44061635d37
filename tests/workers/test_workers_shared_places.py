"""The places of all workers together are never more than there are, whoever asks, gives way, leaves or dies."""

import trio
import trio.testing

from agent.server.capacity import Place, make_places
from agent.workers.messages import (
    LeavePlace,
    PlaceGranted,
    ReportRequest,
    WorkerReport,
    WorkersAnswer,
    WorkersQuestion,
)

from .fakes import Office

THERE = "192.0.2.7"


async def test_the_cap_is_that_of_all_workers() -> None:
    """Who comes when all are taken is refused, in whichever worker; who leaves makes room in each."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(3, 0))
        taken = [await office.take(worker) for worker in (1, 2, 1)]
        assert all(isinstance(each, Place) for each in taken)
        assert [await office.take(1), await office.take(2)] == ["connections", "connections"]
        assert (office.places[1].used, office.places[2].used, office.room.used) == (2, 1, 3)
        assert isinstance(taken[1], Place)
        office.places[2].leave(taken[1])
        office.places[2].leave(taken[1])
        assert office.room.used == 2
        assert isinstance(await office.take(1), Place)
        assert await office.take(2) == "connections"


async def test_the_share_of_an_address_is_that_in_all_workers() -> None:
    """Two here and one there are three."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(10, 3))
        assert [isinstance(await office.take(worker, THERE), Place) for worker in (1, 2, 2)] == [True] * 3
        assert [await office.take(1, THERE), await office.take(2, THERE)] == ["address", "address"]
        assert isinstance(await office.take(2, "192.0.2.8"), Place)


async def test_who_is_silent_in_one_worker_gives_way_to_a_newcomer_in_another(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """From the moment on that it may; who has spoken does not."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(2, 0))
        told: list[str] = []
        first, second = await office.take(1), await office.take(1)
        assert isinstance(first, Place)
        assert isinstance(second, Place)
        office.places[1].may_give_way(first, lambda: told.append("first"), trio.current_time() + 1)
        office.places[1].may_give_way(second, lambda: told.append("second"), trio.current_time() + 1)
        assert await office.take(2) == "connections"
        office.places[1].keep(first)
        await trio.sleep(1)
        assert isinstance(await office.take(2), Place)
        assert (told, office.room.used, office.places[1].used) == (["second"], 2, 1)
        office.places[1].leave(second)  # as its connection does when it has ended
        assert office.room.used == 2
        assert await office.take(2) == "connections"


async def test_who_speaks_as_its_place_is_given_away_is_sent_away(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A place is never two clients', whatever crosses on the way."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(1, 0))
        told: list[str] = []
        place = await office.take(1)
        assert isinstance(place, Place)
        office.places[1].may_give_way(place, lambda: told.append("go"), 0.0)
        office.deaf.add(1)
        assert isinstance(await office.take(2), Place)
        office.places[1].keep(place)  # it does not know yet
        office.hear(1, office.said[1][-1])
        assert (told, office.room.used, office.places[1].used) == (["go"], 1, 0)


async def test_who_is_cancelled_while_it_waits_takes_no_place(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The answer that is under way finds nobody, and the place is free again."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(1, 0))
        office.deaf.add(1)
        with trio.move_on_after(1) as waited:
            await office.take(1)
        assert waited.cancelled_caught
        assert office.room.used == 0
        (granted,) = office.said[1]
        assert isinstance(granted, PlaceGranted)
        office.hear(1, granted)
        assert office.places[1].used == 0
        assert isinstance(await office.take(2), Place)


async def test_a_dead_worker_holds_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """Its places are free; what it would still have said is about nothing, also in the next of its number."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(2, 0))
        taken = [await office.take(1), await office.take(1)]
        assert all(isinstance(each, Place) for each in taken)
        office.desk.remove_worker(1)
        assert office.room.used == 0
        office.join(1)
        assert isinstance(await office.take(2), Place)
        office.desk.hear(1, LeavePlace(2))
        assert office.room.used == 1


async def test_without_a_supervisor_there_are_no_places(autojump_clock: trio.testing.MockClock) -> None:
    """Who waits is refused, and who comes later."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(2, 0))
        office.deaf.add(1)
        found: list[Place | str] = []

        async def wait() -> None:
            found.append(await office.take(1))

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        office.places[1].end()
        await trio.testing.wait_all_tasks_blocked()
        assert found == ["connections"]
        assert await office.take(1) == "connections"


async def test_the_oldest_of_a_worker_gives_way_when_it_has_no_descriptors_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """There and then, without a word to the supervisor but that it has left."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(3, 0))
        told: list[int] = []
        for number in range(2):
            place = await office.take(1)
            assert isinstance(place, Place)
            office.places[1].may_give_way(place, lambda number=number: told.append(number), 5.0)  # type: ignore[misc]
        assert not office.places[1].make_way(4.0)
        assert office.places[1].make_way(5.0)
        assert (told, office.room.used) == ([0], 1)
        assert office.places[1].make_way(5.0)
        assert not office.places[1].make_way(5.0)


async def test_a_question_about_all_is_answered_by_all(autojump_clock: trio.testing.MockClock) -> None:
    """It names who is not ready; one that says nothing is waited for a second, and a dead one is not."""
    async with trio.open_nursery() as nursery:
        office = Office(nursery, make_places(2, 0), workers=3)

        async def ask(*answers: tuple[int, str]) -> tuple[str, float]:
            began = trio.current_time()
            office.desk.hear(1, WorkersQuestion(7, "unready"))
            await trio.testing.wait_all_tasks_blocked()
            for worker, unready in answers:
                report = office.said[worker][-1]
                assert isinstance(report, ReportRequest)
                office.desk.hear(worker, WorkerReport(report.question, unready, None))
            await trio.sleep(1.5)
            answer = office.said[1][-1]
            assert isinstance(answer, WorkersAnswer)
            assert answer.question == 7
            return answer.unready, began

        assert (await ask((1, ""), (2, ""), (3, "")))[0] == ""
        assert (await ask((1, ""), (2, "It reads."), (3, "")))[0] == "Worker 2: It reads."
        assert (await ask((1, ""), (3, "")))[0] == "Worker 2 does not answer."
        office.desk.remove_worker(2)
        assert (await ask((1, ""), (3, "")))[0] == ""
