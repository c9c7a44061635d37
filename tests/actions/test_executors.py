"""The executor that only records."""

from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock

from agent.actions.executors import RecordExecutor
from agent.actions.open import open_executor
from agent.actions.settings import ActionSettings
from agent.errors import UsageError
from agent.ports.action import Call

CALL = Call(suggestion_id="s1", action="send_sms", payload={"phone": "070-1234567", "text": "hi"})


async def test_it_returns_what_it_would_do() -> None:
    """The data say that it was recorded, and which action with which payload."""
    assert await RecordExecutor().run(CALL, lambda: None) == {
        "recorded": True,
        "action": "send_sms",
        "payload": {"phone": "070-1234567", "text": "hi"},
    }


async def test_its_log_line_has_the_action_and_the_suggestion_only() -> None:
    """Nothing of the payload is logged."""
    lines: list[Any]
    with structlog.testing.capture_logs() as lines:
        await RecordExecutor().run(CALL, lambda: None)
    assert lines == [
        {"event": "action recorded", "log_level": "info", "action": "send_sms", "suggestionId": "s1"}
    ]


async def test_it_waits_before_and_after_begin(autojump_clock: MockClock) -> None:
    """The two delays lie before and after begin."""
    begun: list[float] = []
    with structlog.testing.capture_logs():
        await RecordExecutor(2.0, 3.0).run(CALL, lambda: begun.append(trio.current_time()))
    assert begun == [pytest.approx(2.0)]
    assert trio.current_time() == pytest.approx(5.0)


async def test_the_settings_delay_is_in_milliseconds(autojump_clock: MockClock) -> None:
    """Without a webhook the recording executor is opened, with the delays of the settings."""
    begun: list[float] = []
    settings = ActionSettings(action_delay_ms=(250.0, 500.0))
    async with open_executor(settings) as executor:
        await executor.run(CALL, lambda: begun.append(trio.current_time()))
    assert begun == [pytest.approx(0.25)]
    assert trio.current_time() == pytest.approx(0.75)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hook",
        "ftp://user:SECRET@host/",
        "http://",
        "http://:SECRET@/",
        "https://host:port/",
        "http://[::1",
        "http://h:0/",
    ],
)
async def test_a_url_that_cannot_be_called_is_refused(url: str) -> None:
    """The operator is told what a webhook looks like, without what was given."""
    with pytest.raises(UsageError, match="action-webhook must be a URL") as raised:
        await open_executor(ActionSettings(action_webhook=url)).__aenter__()
    assert "SECRET" not in str(raised.value)
