"""Who gets in, who gives way, and whom a limit is for."""

from collections.abc import Callable
from functools import partial

import pytest
import trio
import trio.testing

from agent.config import (
    ACCEPTED_AT_ONCE,
    ACCEPTED_IN_A_FLOOD,
    ADDRESSES_REMEMBERED,
    COME_BACK,
    FLOOD,
    RELIEF,
    VISITORS,
    VISITORS_PER_ADDRESS,
    WRONG_TOKENS,
)
from agent.server.addresses import THIS_MACHINE
from agent.server.limits import Cap, PerAddress, Place, Room, Slots
from agent.server.settings import ServerSettings

HERE, THERE, ELSEWHERE = "192.0.2.1", "192.0.2.2", "192.0.2.3"


def room(size: int, share: int | None = None) -> Room:
    """Return a room of which each address may have `share`, or all."""
    return Room(size, lambda _: size if share is None else share)


class Told:
    """Who was told to give way, in order."""

    def __init__(self, of: Room) -> None:
        self.room = of
        self.names: list[str] = []

    def silent(self, name: str, address: str | None) -> Place:
        """Let a client in that may give way."""
        place = self.room.enter(address, 0.0)
        assert place is not None
        self.room.may_give_way(place, self._tell(name), 0.0)
        return place

    def _tell(self, name: str) -> Callable[[], None]:
        return lambda: self.names.append(name)


def test_no_more_slots_than_there_are_are_taken() -> None:
    """One that is given back can be taken again."""
    slots = Slots(2)
    assert [slots.acquire(), slots.acquire(), slots.acquire()] == [True, True, False]
    slots.release()
    assert slots.used == 1
    assert slots.acquire()


def test_when_nobody_gives_way_nobody_gets_in() -> None:
    """A place that is given back can be taken again, and giving it back twice is giving it back once."""
    of = room(2)
    first, second = of.enter(HERE, 0.0), of.enter(THERE, 0.0)
    assert first is not None
    assert second is not None
    assert of.enter(HERE, 0.0) is None
    of.leave(first)
    of.leave(first)
    assert of.used == 1
    assert of.enter(ELSEWHERE, 0.0) is not None
    assert of.used == 2


def test_the_oldest_that_may_gives_way() -> None:
    """It has left before the newcomer is in; who has spoken stays."""
    of = room(3)
    told = Told(of)
    spoke, old, young = (told.silent(name, HERE) for name in ("spoke", "old", "young"))
    of.keep(spoke)
    of.keep(spoke)
    assert of.enter(THERE, 0.0) is not None
    assert of.used == 3
    assert of.enter(THERE, 0.0) is not None
    assert told.names == ["old", "young"]
    assert of.enter(THERE, 0.0) is None
    of.leave(old)
    of.leave(young)
    assert of.used == 3


def test_it_is_one_of_the_address_that_has_most_of_them() -> None:
    """However much older another is; a crowd from one address pushes only itself out."""
    of = room(4)
    told = Told(of)
    told.silent("alone", HERE)
    for number in range(10):
        told.silent(f"crowd {number}", THERE)
    assert told.names == [f"crowd {number}" for number in range(7)]
    assert told.silent("newcomer", ELSEWHERE) is not None
    assert told.names[-1] == "crowd 7"


def test_who_is_nobody_in_particular_is_counted_alone() -> None:
    """Proxies stand for many, so no share is theirs, and those of an address give way before."""
    of = room(4, share=1)
    told = Told(of)
    for name in ("proxied 1", "proxied 2"):
        told.silent(name, None)
    told.silent("here", HERE)
    assert not of.full_for(None)
    for number in range(3):
        told.silent(f"proxied {number + 3}", None)
    assert told.names == ["proxied 1", "proxied 2"]


def test_an_address_has_its_share_and_pushes_out_its_own() -> None:
    """Others are not concerned, also when there is room for more."""
    of = room(10, share=2)
    told = Told(of)
    other = told.silent("other", THERE)
    for name in ("first", "second", "third"):
        told.silent(name, HERE)
    assert told.names == ["first"]
    assert of.full_for(HERE)
    assert not of.full_for(THERE)
    of.leave(other)
    assert of.used == 2


def test_nobody_gives_way_before_its_time() -> None:
    """One whose time has come does, also of an address that has fewer of them."""
    of = room(4)
    names: list[str] = []
    for name, address, at in (("a", HERE, 5.0), ("b", HERE, 6.0), ("c", HERE, 7.0), ("d", THERE, 4.0)):
        place = of.enter(address, 0.0)
        assert place is not None
        of.may_give_way(place, partial(names.append, name), at)
    assert of.enter(ELSEWHERE, 3.9) is None
    for now, gone in ((4.0, "d"), (5.5, "da"), (5.6, "da"), (7.0, "dab")):
        of.enter(ELSEWHERE, now)
        assert "".join(names) == gone


def test_who_has_left_cannot_be_told_to() -> None:
    """Its place may be somebody else's by then."""
    of = room(1)
    told = Told(of)
    gone = told.silent("gone", HERE)
    of.leave(gone)
    of.may_give_way(gone, lambda: told.names.append("again"), 0.0)
    assert of.enter(HERE, 0.0) is not None
    assert of.enter(HERE, 0.0) is None
    assert told.names == []


def test_a_rate_is_an_addresss_own() -> None:
    """It fills up again, and an address without a limit has none."""
    rates = PerAddress(lambda address: 0.0 if address == THIS_MACHINE else 2.0, burst=3.0)
    assert [rates.take(HERE, 0.0) for _ in range(7)] == [True] * 6 + [False]
    assert rates.take(THERE, 0.0)
    assert [rates.take(HERE, 1.0) for _ in range(3)] == [True, True, False]
    assert all(rates.take(THIS_MACHINE, 0.0) and rates.take(None, 0.0) for _ in range(100))


def test_only_so_many_addresses_are_remembered() -> None:
    """The one that was quiet for longest is forgotten."""
    rates = PerAddress(lambda _: 1.0, burst=1.0)
    assert rates.take("first", 0.0)
    for number in range(ADDRESSES_REMEMBERED - 1):
        rates.take(f"{number}", 0.0)
    assert not rates.take("first", 0.0)
    for number in range(ADDRESSES_REMEMBERED):
        rates.take(f"next {number}", 0.0)
    assert rates.take("first", 0.0)


@pytest.mark.parametrize(
    ("chosen", "here", "there"),
    [({}, 10, 5), ({"max_per_address": 3}, 3, 3), ({"max_per_address": 0}, 10, 10)],
    ids=["usual", "chosen", "none"],
)
def test_the_share_of_an_address(chosen: dict[str, int], here: int, there: int) -> None:
    """Half of all by default, all for this machine; what the operator chooses is for both."""
    for address, share in ((THIS_MACHINE, here), (THERE, there)):
        cap = Cap.of(ServerSettings(max_connections=10, **chosen), 20.0)  # type: ignore[arg-type]
        assert isinstance(cap.places, Room)
        let_in = [cap.places.enter(address, 0.0) for _ in range(20)]
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
        messages = Cap.of(settings, rate_limit).messages
        taken = sum(messages.take(address, 0.0) for _ in range(500))
        assert taken == (500 if burst is None else burst)


def test_the_door_has_a_share_of_its_own() -> None:
    """One address cannot fill it, but this machine can."""
    cap = Cap(1)
    assert sum(cap.door.enter(THERE, 0.0) is not None for _ in range(VISITORS)) == VISITORS_PER_ADDRESS
    cap = Cap(1)
    assert sum(cap.door.enter(THIS_MACHINE, 0.0) is not None for _ in range(VISITORS + 1)) == VISITORS


def test_fewer_are_accepted_at_once_in_a_flood() -> None:
    """A crowd that says what it wants is let in as it comes."""
    cap = Cap(1)
    waiting = Told(cap.door)
    places = []
    for _ in range(FLOOD):
        assert cap.at_once() == ACCEPTED_AT_ONCE
        places.append(waiting.silent("", THIS_MACHINE))
    assert cap.at_once() == ACCEPTED_IN_A_FLOOD
    cap.door.leave(places[0])
    assert cap.at_once() == ACCEPTED_AT_ONCE


def test_some_go_when_no_descriptor_is_left() -> None:
    """Those at the door first, then those that have said nothing; who has spoken never."""
    cap = Cap(100)
    assert isinstance(cap.places, Room)
    door, places = Told(cap.door), Told(cap.places)
    for number in range(RELIEF + 2):
        door.silent(f"{number}", THERE)
    for number in range(RELIEF):
        places.silent(f"{number}", HERE)
    assert cap.places.enter(HERE, 0.0) is not None
    cap.relieve()
    assert (len(door.names), len(places.names)) == (RELIEF, 0)
    cap.relieve()
    assert (len(door.names), len(places.names)) == (RELIEF + 2, RELIEF - 2)
    cap.relieve()
    assert cap.places.used == 1


def test_wrong_tokens_are_forgotten_within_a_minute() -> None:
    """So many at once, and then as many in a minute."""
    wrong = Cap(1).wrong_tokens
    assert sum(wrong.take(THIS_MACHINE, 0.0) for _ in range(100)) == WRONG_TOKENS
    assert sum(wrong.take(THIS_MACHINE, 60.0) for _ in range(100)) == WRONG_TOKENS


def test_clients_are_spread_over_some_seconds() -> None:
    """Each second gets as many of them."""
    cap = Cap(1)
    seconds = [cap.come_back_in() for _ in range(10 * COME_BACK)]
    assert {each: seconds.count(each) for each in seconds} == dict.fromkeys(range(1, COME_BACK + 1), 10)


async def test_who_waits_for_the_last_one_waits_for_all() -> None:
    """Also when somebody comes in between."""
    cap = Cap(2)
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
