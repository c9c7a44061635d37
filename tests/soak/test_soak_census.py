"""What is counted does not hang on when it is."""

from contextlib import nullcontext

import pytest
import trio
import trio.testing

from agent.soak.census import Census

CANCELLED = "trio.Cancelled"


async def test_what_ended_the_last_wait_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """After a sleep the loop still holds what its deadline raised, until the next step."""
    monkeypatch.setattr("agent.soak.census.freeze_heap", lambda: None)  # it is for the rest of the process
    # To look at all that the run has loaded, too, takes two seconds each time; none of it ends in this test.
    monkeypatch.setattr("agent.soak.census.unfreeze_heap", nullcontext)
    await trio.lowlevel.checkpoint()
    before = Census.take().objects[CANCELLED]
    await trio.sleep(1)
    held = Census.take().objects[CANCELLED]
    await trio.sleep(1)
    at_rest = (await Census.take_at_rest()).objects[CANCELLED]
    assert (held - before, at_rest - before) == (1, 0)
