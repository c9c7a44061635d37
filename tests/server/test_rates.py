"""How often an address may do something."""

from agent.config import ADDRESSES_REMEMBERED
from agent.server.addresses import THIS_MACHINE
from agent.server.rates import PerAddress

HERE, THERE = "192.0.2.1", "192.0.2.2"


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
