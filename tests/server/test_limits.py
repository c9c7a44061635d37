"""The limits of one server, and whom a limit is for."""

import pytest
import trio
import trio.testing

from agent.config import ACCEPTED_AT_ONCE
from agent.server.addresses import THIS_MACHINE
from agent.server.capacity import PlacePool
from agent.server.limits import (
    ACCEPTED_IN_A_FLOOD,
    COME_BACK,
    FLOOD,
    LEAVE_AT_ONCE,
    RELIEF,
    VISITORS_PER_ADDRESS,
    ConnectionLimits,
    Slots,
)
from agent.server.settings import VISITORS, WRONG_TOKENS, ServerSettings

from .test_capacity import Told

HERE, THERE = "192.0.2.1", "192.0.2.2"


def test_no_more_slots_than_there_are_are_taken() -> None:
    """One that is given back can be taken again."""
    slots = Slots(2)
    assert [slots.acquire(), slots.acquire(), slots.acquire()] == [True, True, False]
    slots.release()
    assert slots.used == 1
    assert slots.acquire()


@pytest.mark.parametrize(
    ("chosen", "here", "there"),
    [({}, 10, 5), ({"max_per_address": 3}, 3, 3), ({"max_per_address": 0}, 10, 10)],
    ids=["usual", "chosen", "none"],
)
def test_the_share_of_an_address(chosen: dict[str, int], here: int, there: int) -> None:
    """Half of all by default, all for this machine; what the operator chooses is for both."""
    for address, share in ((THIS_MACHINE, here), (THERE, there)):
        cap = ConnectionLimits.of(ServerSettings(max_connections=10, **chosen), 20.0)  # type: ignore[arg-type]
        assert isinstance(cap.places, PlacePool)
        let_in = [cap.places.take_now(address, 0.0) for _ in range(20)]
        assert sum(place is not None for place in let_in) == share


@pytest.mark.parametrize(
    ("chosen", "here", "there"),
    [
        ({}, None, 40),
        ({"rate_limit": 1.0}, None, 20),
        ({"rate_limit": 0.0}, None, None),
        ({"address_rate": 3.0}, 6, 6),
        ({"address_rate": 0.0}, None, None),
    ],
    ids=["usual", "by session", "off", "chosen", "none"],
)
def test_the_message_rate_of_an_address(
    chosen: dict[str, float], here: int | None, there: int | None
) -> None:
    """Ten sessions' by default, twice that at once, no limit for this machine; a chosen one is for both."""
    rate_limit = chosen.get("rate_limit", 2.0)
    settings = ServerSettings(address_rate=chosen.get("address_rate"))
    for address, burst in ((THIS_MACHINE, here), (THERE, there)):
        messages = ConnectionLimits.of(settings, rate_limit).messages
        taken = sum(messages.take(address, 0.0) for _ in range(500))
        assert taken == (500 if burst is None else burst)


def test_the_door_has_a_share_of_its_own() -> None:
    """One address cannot fill it, but this machine can."""
    cap = ConnectionLimits(1)
    assert sum(cap.door.take_now(THERE, 0.0) is not None for _ in range(VISITORS)) == VISITORS_PER_ADDRESS
    cap = ConnectionLimits(1)
    assert sum(cap.door.take_now(THIS_MACHINE, 0.0) is not None for _ in range(VISITORS + 1)) == VISITORS


def test_fewer_are_accepted_at_once_in_a_flood() -> None:
    """A crowd that says what it wants is let in as it comes."""
    cap = ConnectionLimits(1)
    waiting = Told(cap.door)
    places = []
    for _ in range(FLOOD):
        assert cap.batch_size() == ACCEPTED_AT_ONCE
        places.append(waiting.silent("", THIS_MACHINE))
    assert cap.batch_size() == ACCEPTED_IN_A_FLOOD
    cap.door.leave(places[0])
    assert cap.batch_size() == ACCEPTED_AT_ONCE


async def test_no_more_are_accepted_than_leave_while_many_do() -> None:
    """Else clients that come and go would fill all places with connections that wait for their end."""
    cap = ConnectionLimits(1)
    for _ in range(LEAVE_AT_ONCE):
        assert cap.batch_size() == ACCEPTED_AT_ONCE
        await cap.departures.acquire()
    assert cap.batch_size() == LEAVE_AT_ONCE // 2
    cap.departures.release()
    assert cap.batch_size() == ACCEPTED_AT_ONCE


def test_some_go_when_no_descriptor_is_left() -> None:
    """Those at the door first, then those that have said nothing; who has spoken never."""
    cap = ConnectionLimits(100)
    assert isinstance(cap.places, PlacePool)
    door, places = Told(cap.door), Told(cap.places)
    for number in range(RELIEF + 2):
        door.silent(f"{number}", THERE)
    for number in range(RELIEF):
        places.silent(f"{number}", HERE)
    assert cap.places.take_now(HERE, 0.0) is not None
    cap.relieve()
    assert (len(door.names), len(places.names)) == (RELIEF, 0)
    cap.relieve()
    assert (len(door.names), len(places.names)) == (RELIEF + 2, RELIEF - 2)
    cap.relieve()
    assert cap.places.used == 1


def test_wrong_tokens_are_forgotten_within_a_minute() -> None:
    """So many at once, and then as many in a minute."""
    wrong = ConnectionLimits(1).wrong_tokens
    assert sum(wrong.take(THIS_MACHINE, 0.0) for _ in range(100)) == WRONG_TOKENS
    assert sum(wrong.take(THIS_MACHINE, 60.0) for _ in range(100)) == WRONG_TOKENS


def test_clients_are_spread_over_some_seconds() -> None:
    """Each second gets as many of them."""
    cap = ConnectionLimits(1)
    seconds = [cap.pick_reconnect_delay() for _ in range(10 * COME_BACK)]
    assert {each: seconds.count(each) for each in seconds} == dict.fromkeys(range(1, COME_BACK + 1), 10)


async def test_who_waits_for_the_last_one_waits_for_all() -> None:
    """Also when somebody comes in between."""
    cap = ConnectionLimits(2)
    await cap.wait_unused()
    cap.arrive()
    async with trio.open_nursery() as nursery:
        done: list[bool] = []

        async def wait() -> None:
            await cap.wait_unused()
            done.append(True)

        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        cap.depart()
        cap.arrive()
        await trio.testing.wait_all_tasks_blocked()
        assert done == []
        cap.depart()
    assert done == [True]
    assert cap.used == 0
