"""What a server says of its language model: at the start, at each failure, and when the model answers again."""

import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from agent.errors import ModelFailed
from agent.models.health import WatchedModel, probe_model
from agent.ports.model import Finish, TextDelta
from agent.testing.models import FakeModel, outcome_of

GOOD = (TextDelta("ready"), Finish("stop"))
WRONG_KEY = ModelFailed("it refused the request", "auth", detail="Wrong key.")


async def test_trouble_is_reported_at_each_failure_and_taken_back_by_an_answer() -> None:
    """The sentence is the failure's own line, without the server's words: clients may see it."""
    troubles: list[str] = []
    model = WatchedModel(FakeModel([GOOD, (WRONG_KEY,), (WRONG_KEY,), GOOD, GOOD]), troubles.append)
    for _ in range(5):
        await outcome_of(model)
    assert troubles == ["The language model does not answer: it refused the request."] * 2 + [""]


async def test_a_model_that_is_left_alone_keeps_its_reason() -> None:
    """The operator reads why it failed, beside that it is not asked for a while; a later failure has its own reason."""
    troubles: list[str] = []
    rests = ModelFailed("the model failed 5 times in a row", "open")
    away = ModelFailed("it cannot be reached", "connect")
    model = WatchedModel(
        FakeModel([(rests,), (away,), (rests,), (WRONG_KEY,), GOOD, (rests,)]), troubles.append
    )
    for _ in range(6):
        await outcome_of(model)
    lead = "The language model does not answer: "
    assert [each.removeprefix(lead) for each in troubles] == [
        "the model failed 5 times in a row.",
        "it cannot be reached.",
        "it cannot be reached. The model failed 5 times in a row.",
        "it refused the request.",
        "",
        "the model failed 5 times in a row.",
    ]


async def test_a_probe_asks_for_one_token_and_logs_one_line(autojump_clock: MockClock) -> None:
    """The line of a failure holds its kind, the reason with its remedy, and the server's sentence."""
    asked = FakeModel([(2.5, *GOOD), (WRONG_KEY,)])
    model = WatchedModel(asked, lambda _: None)
    with capture_logs() as lines:
        for _ in range(2):
            await probe_model(model)
    assert [request.max_tokens for request in asked.requests] == [1, 1]
    assert lines == [
        {"event": "model answers", "log_level": "info", "seconds": 2.5},
        {
            "event": "model does not answer",
            "log_level": "warning",
            "kind": "auth",
            "reason": "it refused the request",
            "server": "Wrong key.",
        },
    ]
    assert asked.running == 0


async def test_a_cancelled_request_reports_nothing(autojump_clock: MockClock) -> None:
    """It says nothing of the model."""
    troubles: list[str] = []
    model = WatchedModel(FakeModel([(9.0, *GOOD)]), troubles.append)
    with trio.move_on_after(1.0):
        await outcome_of(model)
    assert troubles == []


async def test_a_prompt_that_does_not_fit_is_no_trouble(autojump_clock: MockClock) -> None:
    """The model is well: its prompt is made shorter. The line has the server's sentence."""
    troubles: list[str] = []
    long = ModelFailed("it is longer than its context", "length", detail="n_ctx is 512.")
    model = WatchedModel(FakeModel([(long,)]), troubles.append)
    with capture_logs() as lines:
        await outcome_of(model)
    assert troubles == []
    assert [(line["event"], line["server"]) for line in lines] == [
        ("prompt does not fit the model", "n_ctx is 512.")
    ]
