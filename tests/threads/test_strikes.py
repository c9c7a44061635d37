"""A thread's scenarios, struck in every way: what was kept is what was told, and nothing runs unasked or twice.

Every eighth step is struck, by each way of striking another one, and every twenty-fourth where something is remembered;
AGENT_STRIKES=all strikes each of them, and
`python -m tests.threads.strikes` the scenario in which a thread sleeps as well, which has a step in each second of it.
"""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import cast

import pytest
import trio

from agent.lang import Lang
from agent.memory.items import draft_edit
from agent.memory.own_memory import OwnMemory
from agent.ports.brain import Question
from agent.ports.conversation import Scope
from agent.ports.memory import Item
from agent.ports.remember import FinishedAnswer, ReturnPath
from agent.storage.threads import DatabaseThreads
from agent.testing.return_paths import NotedReturnPath
from agent.threads.recorder import ThreadRecorder
from agent.threads.thread_registry import AwakeThreads
from agent.threads.thread_turns import ThreadTurns

from .strikes import CASES as EACH
from .strikes import MEMORIES, quiet, strike_all

ALL = os.environ.get("AGENT_STRIKES") == "all"
EVERY, POINTS = (1, 3_200) if ALL else (8, 370)
OF_MEMORIES = 1 if ALL else 24
AT_ONCE = 2  # processes
CASES = [case for case in EACH if case[0] != "sleep_and_wake"]
struck: dict[tuple[str, str], int] = {}

Struck = Future[tuple[int, list[tuple[int, list[str]]]]]


@pytest.fixture(scope="module")
def striking(request: pytest.FixtureRequest) -> Iterator[dict[tuple[str, str], Struck]]:
    """What becomes of each scenario and strike that this run is about, by their names."""
    cases = [
        (cast(str, item.callspec.params["plot"]), cast(str, item.callspec.params["strike"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_no_thread_breaks_at_any_step"
    ]
    with ProcessPoolExecutor(AT_ONCE, get_context("spawn"), initializer=quiet) as pool:
        yield {
            case: pool.submit(strike_all, *case, OF_MEMORIES if case[0] in MEMORIES else EVERY)
            for case in cases
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.proof
@pytest.mark.parametrize(("plot", "strike"), CASES)
def test_no_thread_breaks_at_any_step(
    plot: str, strike: str, striking: dict[tuple[str, str], Struck]
) -> None:
    """What the scenario kept agrees with what was told and what took effect, and nothing of it is left."""
    points, bad = striking[plot, strike].result()
    struck[plot, strike] = points
    assert not bad, f"{len(bad)} of {points} points broke something; the first: {bad[0]}"


@pytest.mark.proof
def test_enough_points_were_struck() -> None:
    """Their number is known, and not small."""
    if len(struck) < len(CASES):
        pytest.skip("only a part of the scenarios was run")
    assert sum(struck.values()) >= POINTS


@pytest.mark.proof
def test_what_breaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A desk that lets go of a message whose turn did not begin leaves it pending, and the strikes show it."""
    monkeypatch.setattr(ThreadTurns, "_abandon_message", lambda turns, opening: None)
    _, bad = strike_all("question", "leave", 3)
    assert any("is still pending" in why for _, broken in bad for why in broken)


@pytest.mark.parametrize("strike", ["cancel_turn", "delete"])
def test_nothing_of_a_turn_comes_once_its_end_was_answered(strike: str) -> None:
    """Whether it is being begun, goes on or has just been kept: no frame, row or call of it comes after the answer."""
    _, bad = strike_all("question", strike, 4)
    assert bad == []


@pytest.mark.proof
@pytest.mark.parametrize(
    ("strike", "missing"),
    [
        ("delete", "end"),
        ("cancel_turn", "await_begin"),
        ("cancel", "await_begin"),
        ("delete", "await_begin"),
    ],
)
def test_what_comes_after_the_answer_is_found(
    strike: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting a thread and not its session, or cancelling without waiting for what is begun, shows in the frames."""
    monkeypatch.setattr(AwakeThreads if missing == "end" else ThreadTurns, missing, nothing)
    _, bad = strike_all("told_and_asked", strike, 1)
    assert any("after it was taken back it was heard" in why for _, broken in bad for why in broken)


@pytest.mark.proof
def test_what_is_remembered_of_a_cancelled_turn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that hands over what is said before its end is kept remembers what was cancelled."""

    def keep(
        self: ThreadRecorder, question: Question, answered: FinishedAnswer, return_path: ReturnPath
    ) -> None:
        self._recorder.record_exchange(question, answered, NotedReturnPath())

    monkeypatch.setattr(ThreadRecorder, "record_exchange", keep)
    monkeypatch.setattr(ThreadRecorder, "record_end", nothing)
    _, bad = strike_all("told_and_asked", "cancel_turn", 4)
    assert any("is cancelled, and remembered" in why for _, broken in bad for why in broken)


@pytest.mark.proof
def test_a_forgetting_that_stops_half_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that keeps the words of what was forgotten elsewhere is found out by its messages."""

    async def forget(*_: object) -> None:
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(DatabaseThreads, "forget_turns", forget)
    monkeypatch.setattr(DatabaseThreads, "forget_repeats", forget)
    _, bad = strike_all("told_and_forgotten", "leave", 20)
    assert any("what was forgotten is in the messages" in why for _, broken in bad for why in broken)


@pytest.mark.proof
def test_a_correction_that_is_written_in_parts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who leaves between them leaves what he approved as a proposal."""

    async def edit(self: OwnMemory, scope: Scope, id: str, text: str, lang: Lang) -> Item:
        item, now = await self._store.item(scope, id), self._clock.now_ms()
        (made,) = await self._store.propose_drafts(scope, [draft_edit(item, text, lang, now)], now)
        return await self._store.accept_item(scope, made.item.id, now)

    monkeypatch.setattr(OwnMemory, "edit_item", edit)
    _, bad = strike_all("corrected_before_it_is_accepted", "leave", 1)
    assert any("which its user's words have approved" in why for _, broken in bad for why in broken)


async def nothing(*_: object) -> tuple[()]:
    """Remember nothing more."""
    return ()
