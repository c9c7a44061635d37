"""Who gets a place, and who gives way."""

from collections.abc import Callable
from functools import partial

from agent.server.capacity import Place, PlacePool

HERE, THERE, ELSEWHERE = "192.0.2.1", "192.0.2.2", "192.0.2.3"


def room(size: int, share: int | None = None) -> PlacePool:
    """Return a room of which each address may have `share`, or all."""
    return PlacePool(size, lambda _: size if share is None else share)


class Told:
    """Who was told to give way, in order."""

    def __init__(self, of: PlacePool) -> None:
        self.room = of
        self.names: list[str] = []

    def silent(self, name: str, address: str | None) -> Place:
        """Let a client in that may give way."""
        place = self.room.take_now(address, 0.0)
        assert place is not None
        self.room.may_give_way(place, self._tell(name), 0.0)
        return place

    def _tell(self, name: str) -> Callable[[], None]:
        return lambda: self.names.append(name)


def test_when_nobody_gives_way_nobody_gets_in() -> None:
    """A place that is given back can be taken again, and giving it back twice is giving it back once."""
    of = room(2)
    first, second = of.take_now(HERE, 0.0), of.take_now(THERE, 0.0)
    assert first is not None
    assert second is not None
    assert of.take_now(HERE, 0.0) is None
    of.leave(first)
    of.leave(first)
    assert of.used == 1
    assert of.take_now(ELSEWHERE, 0.0) is not None
    assert of.used == 2


def test_the_oldest_that_may_gives_way() -> None:
    """It has left before the newcomer is in; who has spoken stays."""
    of = room(3)
    told = Told(of)
    spoke, old, young = (told.silent(name, HERE) for name in ("spoke", "old", "young"))
    of.keep(spoke)
    of.keep(spoke)
    assert of.take_now(THERE, 0.0) is not None
    assert of.used == 3
    assert of.take_now(THERE, 0.0) is not None
    assert told.names == ["old", "young"]
    assert of.take_now(THERE, 0.0) is None
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
    assert not of.is_full_for(None)
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
    assert of.is_full_for(HERE)
    assert not of.is_full_for(THERE)
    of.leave(other)
    assert of.used == 2


def test_nobody_gives_way_before_its_time() -> None:
    """One whose time has come does, also of an address that has fewer of them."""
    of = room(4)
    names: list[str] = []
    for name, address, at in (("a", HERE, 5.0), ("b", HERE, 6.0), ("c", HERE, 7.0), ("d", THERE, 4.0)):
        place = of.take_now(address, 0.0)
        assert place is not None
        of.may_give_way(place, partial(names.append, name), at)
    assert of.take_now(ELSEWHERE, 3.9) is None
    for now, gone in ((4.0, "d"), (5.5, "da"), (5.6, "da"), (7.0, "dab")):
        of.take_now(ELSEWHERE, now)
        assert "".join(names) == gone


def test_who_has_left_cannot_be_told_to() -> None:
    """Its place may be somebody else's by then."""
    of = room(1)
    told = Told(of)
    gone = told.silent("gone", HERE)
    of.leave(gone)
    of.may_give_way(gone, lambda: told.names.append("again"), 0.0)
    assert of.take_now(HERE, 0.0) is not None
    assert of.take_now(HERE, 0.0) is None
    assert told.names == []
