"""What surrounds a model, on virtual time: its time-outs, its retries, its breaker, and who answers in its place."""

from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import get_args

import pytest
import trio
from trio.testing import MockClock

from agent.errors import ModelFailed, ModelFault
from agent.models.breaker import MODEL_FAILURES, MODEL_REST, Breaker
from agent.models.model_wrappers import (
    MODEL_RETRIES,
    MODEL_RETRY_AFTER_MAX,
    MODEL_RETRY_PAUSE,
    Fallback,
    RetryingModel,
    TimedModel,
)
from agent.ports.model import CallDelta, Finish, LanguageModel, Piece, TextDelta
from agent.server.metrics import Metrics
from agent.testing.models import ASKED, FakeModel, Step, outcome_of

DONE = Finish("stop")
GOOD: tuple[Piece, ...] = (TextDelta("a"), CallDelta(0, "c", "f", "{}"), DONE)
DOWN = ModelFailed("down", "server")


class Noted:
    """An Observer that is the server's own, so that each name is one that is published, and can be read."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.counted: list[tuple[str, str]] = []
        self.levels: dict[str, int] = {}
        self.measured: list[float] = []

    def count(self, metric: str, label: str = "") -> None:
        self.metrics.count(metric, label)
        self.counted.append((metric, label))

    def measure(self, metric: str, seconds: float) -> None:
        self.metrics.measure(metric, seconds)
        self.measured.append(seconds)

    def gauge(self, metric: str, change: int) -> None:
        self.metrics.gauge(metric, change)
        self.levels[metric] = self.levels.get(metric, 0) + change


async def outcome(model: LanguageModel) -> tuple[list[Piece], str]:
    """Return the pieces that came, and how it failed ("" when it did not)."""
    pieces, failure = await outcome_of(model)
    return pieces, failure.kind if failure else ""


# --- time-outs


@pytest.mark.parametrize(
    ("steps", "came", "seconds"),
    [
        ((10.5, *GOOD), 0, 10.0),
        ((9.5, GOOD[0], 4.5, GOOD[1], 5.5, DONE), 2, 9.5 + 4.5 + 5.0),
        ((float("inf"),), 0, 10.0),
    ],
)
async def test_a_piece_that_is_late_is_a_failure(
    autojump_clock: MockClock, steps: Sequence[Step], came: int, seconds: float
) -> None:
    """The first has its time, each other one its own, and the model is let go of."""
    model = FakeModel([steps])
    pieces, kind = await outcome(TimedModel(model, 10.0, 5.0))
    assert (pieces, kind) == (list(GOOD[:came]), "timeout")
    assert trio.current_time() == pytest.approx(seconds)
    assert model.running == 0


async def test_a_model_that_has_never_answered_may_still_be_loaded(autojump_clock: MockClock) -> None:
    """Its first call has a longer time; once it has answered, each call has the usual time again."""
    model = TimedModel(FakeModel([(100.5, *GOOD), (99.5, *GOOD), (10.5, *GOOD)]), 10.0, 5.0, 100.0)
    assert [(await outcome(model))[1] for _ in range(3)] == ["timeout", "", "timeout"]
    assert trio.current_time() == pytest.approx(100.0 + 99.5 + 10.0)


async def test_who_takes_time_for_a_piece_is_not_the_model(autojump_clock: MockClock) -> None:
    """Only its own time counts."""
    pieces = []
    async with aclosing(TimedModel(FakeModel([(9.0, *GOOD)]), 10.0, 5.0).stream(ASKED)) as stream:
        async for piece in stream:
            pieces.append(piece)
            await trio.sleep(60)
    assert pieces == list(GOOD)


# --- retries


@pytest.mark.parametrize("kind", get_args(ModelFault))
async def test_only_what_may_help_is_tried_again(autojump_clock: MockClock, kind: ModelFault) -> None:
    """Twice, where the request did not arrive, there were too many, or the server failed."""
    noted = Noted()
    model = FakeModel([(ModelFailed("x", kind),)] * 9)
    pieces, failed = await outcome(RetryingModel(model, noted))
    assert (pieces, failed) == ([], kind)
    again = MODEL_RETRIES if kind in ("connect", "rate", "server") else 0
    assert len(model.requests) == 1 + again
    assert noted.counted == [("model_retries", "")] * again


async def test_a_later_try_answers(autojump_clock: MockClock) -> None:
    """And nobody sees that it was one."""
    assert await outcome(RetryingModel(FakeModel([(DOWN,), (DOWN,), GOOD]), Noted())) == (list(GOOD), "")


async def test_an_answer_that_has_begun_is_not_begun_again(autojump_clock: MockClock) -> None:
    """Its second half cannot be another's."""
    model = FakeModel([(GOOD[0], DOWN), GOOD])
    assert await outcome(RetryingModel(model, Noted())) == ([GOOD[0]], "server")
    assert len(model.requests) == 1


@pytest.mark.parametrize(("chance", "factor"), [(0.0, 0.5), (1.0, 1.0)])
async def test_pauses_grow_and_are_spread(autojump_clock: MockClock, chance: float, factor: float) -> None:
    """From half of the pause to the whole of it, and then twice as long."""
    await outcome(RetryingModel(FakeModel(), Noted(), lambda: chance))
    assert trio.current_time() == pytest.approx(MODEL_RETRY_PAUSE * factor * (1 + 2))


async def test_a_service_says_when_to_come_back(autojump_clock: MockClock) -> None:
    """Never earlier, and a little later, so that not all come at once."""
    model = FakeModel([(ModelFailed("x", "rate", 7.0),), GOOD])
    assert await outcome(RetryingModel(model, Noted(), lambda: 0.0)) == (list(GOOD), "")
    assert trio.current_time() == pytest.approx(7.0 + MODEL_RETRY_PAUSE / 2)


@pytest.mark.parametrize(("asked", "deadline"), [(7.0, 7.1), (MODEL_RETRY_AFTER_MAX + 1, float("inf"))])
async def test_nobody_waits_for_what_comes_too_late(
    autojump_clock: MockClock, asked: float, deadline: float
) -> None:
    """Beyond the caller's deadline, or any that is sensible, the failure is told at once."""
    model = FakeModel([(ModelFailed("x", "rate", asked),), GOOD])
    with trio.CancelScope(deadline=deadline):
        assert await outcome(RetryingModel(model, Noted())) == ([], "rate")
    assert trio.current_time() == 0
    assert len(model.requests) == 1


async def test_a_cancel_ends_the_pause(autojump_clock: MockClock) -> None:
    """And nothing is asked any more."""
    model = FakeModel([(ModelFailed("x", "rate", 7.0),), GOOD])
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outcome, RetryingModel(model, Noted()))
            await trio.sleep(1)
            scope.cancel()
    assert trio.current_time() == pytest.approx(1)
    assert len(model.requests) == 1


# --- the breaker


async def _failed_often(breaker: Breaker, times: int = MODEL_FAILURES) -> None:
    for _ in range(times):
        assert (await outcome(breaker))[1] == "server"


async def test_a_model_that_fails_in_a_row_is_left_alone(autojump_clock: MockClock) -> None:
    """Then it is not asked, and the figures say so, until one request may try it."""
    noted, model = Noted(), FakeModel([*[(DOWN,)] * MODEL_FAILURES, GOOD, GOOD])
    breaker = Breaker(model, noted)
    await _failed_often(breaker)
    assert noted.levels == {"model_open": 1}
    assert "agent_model_open 1.0" in noted.metrics.text().decode()
    assert await outcome(breaker) == ([], "open")
    assert len(model.requests) == MODEL_FAILURES
    await trio.sleep(MODEL_REST - 1)
    assert await outcome(breaker) == ([], "open")
    await trio.sleep(1)
    assert await outcome(breaker) == (list(GOOD), "")
    assert await outcome(breaker) == (list(GOOD), "")
    assert noted.levels == {"model_open": 0}
    outcomes = [label for metric, label in noted.counted if metric == "model_attempts"]
    assert outcomes == ["server"] * MODEL_FAILURES + ["open"] * 2 + ["done"] * 2


async def test_a_trial_that_fails_is_another_rest(autojump_clock: MockClock) -> None:
    """Of the same length, from then on."""
    noted, model = Noted(), FakeModel()
    breaker = Breaker(model, noted)
    await _failed_often(breaker)
    await trio.sleep(MODEL_REST + 20)
    assert await outcome(breaker) == ([], "server")
    await trio.sleep(MODEL_REST - 1)
    assert await outcome(breaker) == ([], "open")
    assert len(model.requests) == MODEL_FAILURES + 1
    assert noted.levels == {"model_open": 1}


async def test_only_one_tries(autojump_clock: MockClock) -> None:
    """While it does, others are turned away."""
    model = FakeModel([*[(DOWN,)] * MODEL_FAILURES, (5.0, *GOOD), GOOD])
    breaker = Breaker(model, Noted())
    await _failed_often(breaker)
    await trio.sleep(MODEL_REST)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outcome, breaker)
        await trio.sleep(1)
        assert await outcome(breaker) == ([], "open")
    assert await outcome(breaker) == (list(GOOD), "")


async def test_a_trial_that_is_cancelled_lets_the_next_one_try(autojump_clock: MockClock) -> None:
    """It has shown nothing."""
    model = FakeModel([*[(DOWN,)] * MODEL_FAILURES, (60.0,), GOOD])
    breaker = Breaker(model, Noted())
    await _failed_often(breaker)
    await trio.sleep(MODEL_REST)
    with trio.move_on_after(1):
        await outcome(breaker)
    assert await outcome(breaker) == (list(GOOD), "")


@pytest.mark.parametrize("kind", ["request", "auth", "cancelled", "closed"])
async def test_what_says_nothing_of_its_health_is_no_failure(autojump_clock: MockClock, kind: str) -> None:
    """A refusal, a cancel, a stream that is closed early: neither a failure nor the end of a row of them."""
    step: Sequence[Step] = (60.0,)
    if kind == "closed":
        step = (TextDelta("a"), 60.0)
    elif kind != "cancelled":
        step = (ModelFailed("x", kind),)  # type: ignore[arg-type]
    model = FakeModel([(DOWN,)] * (MODEL_FAILURES - 1) + [step] * 10 + [(DOWN,), GOOD])
    noted = Noted()
    breaker = Breaker(model, noted)
    await _failed_often(breaker, MODEL_FAILURES - 1)
    for _ in range(10):
        with trio.move_on_after(1):
            async with aclosing(breaker.stream(ASKED)) as stream:
                with suppress(ModelFailed):
                    await anext(stream)
    assert noted.levels == {}
    await _failed_often(breaker, 1)
    assert await outcome(breaker) == ([], "open")


async def test_a_success_ends_the_row(autojump_clock: MockClock) -> None:
    """Also one whose stream is closed by who has read its last piece."""
    model = FakeModel([*[(DOWN,)] * (MODEL_FAILURES - 1), GOOD, *[(DOWN,)] * (MODEL_FAILURES - 1), GOOD])
    breaker = Breaker(model, Noted())
    await _failed_often(breaker, MODEL_FAILURES - 1)
    stream = breaker.stream(ASKED)
    assert [await anext(stream) for _ in GOOD] == list(GOOD)
    await stream.aclose()
    await _failed_often(breaker, MODEL_FAILURES - 1)
    assert await outcome(breaker) == (list(GOOD), "")


async def test_the_time_to_the_first_piece_is_measured(autojump_clock: MockClock) -> None:
    """Once an answer."""
    noted = Noted()
    await outcome(Breaker(FakeModel([(2.0, GOOD[0], 3.0, DONE)]), noted))
    assert noted.measured == [pytest.approx(2.0)]


# --- the fallback


async def test_another_model_answers_where_the_first_cannot(autojump_clock: MockClock) -> None:
    """As long as it has said nothing."""
    noted, second = Noted(), FakeModel([GOOD])
    assert await outcome(Fallback(FakeModel([(DOWN,)]), second, noted)) == (list(GOOD), "")
    assert second.requests == [ASKED]
    assert noted.counted == [("model_fallbacks", "")]


async def test_an_answer_that_has_begun_stays_its_model_s(autojump_clock: MockClock) -> None:
    """No other is asked."""
    second = FakeModel([GOOD])
    assert await outcome(Fallback(FakeModel([(GOOD[0], DOWN)]), second, Noted())) == ([GOOD[0]], "server")
    assert second.requests == []


async def test_where_both_fail_the_second_s_failure_is_told(autojump_clock: MockClock) -> None:
    """It was asked last."""
    second = FakeModel([(ModelFailed("x", "rate"),)])
    assert await outcome(Fallback(FakeModel(), second, Noted())) == ([], "rate")


async def test_a_good_first_model_is_asked_alone(autojump_clock: MockClock) -> None:
    """The other costs nothing."""
    second = FakeModel([GOOD])
    assert await outcome(Fallback(FakeModel([GOOD]), second, Noted())) == (list(GOOD), "")
    assert second.requests == []


# --- all of it


@pytest.mark.parametrize("at", [0.5, 10.2, 12.0])
async def test_a_cancel_passes_through_everything(autojump_clock: MockClock, at: float) -> None:
    """In the first model, in its pause, in the fallback: at once, and nothing is left running."""
    noted = Noted()
    first, second = FakeModel([(10.0, DOWN)] + [(10.0, DOWN)] * 2), FakeModel([(10.0, *GOOD)])

    def around(model: FakeModel) -> LanguageModel:
        return RetryingModel(Breaker(TimedModel(model, 20.0, 20.0), noted), noted)

    with trio.move_on_after(at) as scope:
        await outcome(Fallback(around(first), around(second), noted))
    assert scope.cancelled_caught
    assert trio.current_time() == pytest.approx(at)
    assert first.running == second.running == 0


async def test_a_model_that_is_still_loaded_does_not_open_its_breaker(autojump_clock: MockClock) -> None:
    """A time-out counts once the model has answered: before, it says nothing of the model's health."""
    late: Sequence[Step] = (ModelFailed("late", "timeout"),)
    breaker = Breaker(FakeModel([late] * MODEL_FAILURES + [GOOD] + [late] * MODEL_FAILURES), Noted())
    failed = [(await outcome(breaker))[1] for _ in range(2 * MODEL_FAILURES + 2)]
    assert failed == ["timeout"] * MODEL_FAILURES + [""] + ["timeout"] * MODEL_FAILURES + ["open"]
