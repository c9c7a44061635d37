"""The gate through which the parts of a turn are counted changes nothing, and every part is still there."""

import sys
from collections.abc import Generator
from importlib import import_module
from operator import attrgetter
from types import ModuleType

import pytest

from tests.bench.parts import PARTS, Gate


def test_every_part_names_functions_that_are_called_from_there() -> None:
    """A function that moved would be counted no more, and nothing would say so."""
    for opening, closing in PARTS.values():
        for place in (*opening, *closing):
            module, _, path = place.partition(":")
            assert callable(attrgetter(path)(import_module(module))), place


def test_the_gate_hands_on_results_faults_and_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a function that calls itself, and of one in a part that is no part of it."""
    module = ModuleType("counted_here")
    monkeypatch.setitem(sys.modules, "counted_here", module)

    def count_down(number: int) -> int:
        return module.count_down(number - 1) if number else module.leave_out()  # type: ignore[no-any-return]

    def take_steps(number: int) -> Generator[int, None, str]:
        yield from range(number)
        return "ended"

    def fail() -> None:
        raise LookupError

    for function in (count_down, take_steps, fail):
        setattr(module, function.__name__, function)
    gate = Gate()
    opened: list[bool] = []

    def leave_out() -> int:
        opened.append(gate.is_open)
        return 7

    setattr(module, leave_out.__name__, leave_out)
    for name in ("count_down", "take_steps", "fail"):
        gate.replace(f"counted_here:{name}", opens=True)
    assert module.count_down(2) == 7
    gate.replace("counted_here:leave_out", opens=False)
    assert module.count_down(2) == 7
    assert (opened, gate.is_open) == ([True, False], False)
    steps = module.take_steps(2)
    assert [next(steps), next(steps)] == [0, 1]
    with pytest.raises(StopIteration, match="ended"):
        next(steps)
    with pytest.raises(LookupError):
        module.fail()
    assert not gate.is_open
