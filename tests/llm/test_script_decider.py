"""A script's entries as decisions."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent.errors import BadDecision, ModelFailed, UsageError
from agent.llm.mock_decider import MockDecider
from agent.llm.model_decider import ModelDecider
from agent.llm.open import make_model_decider, open_decider
from agent.llm.script import ScriptDecider, ScriptEntry, ScriptModel
from agent.llm.settings import MockSettings
from agent.ports.decide import Act, Ask, Briefing, CallResult, Decision, Noop
from agent.ports.draft import Prompt
from agent.testing.models import FakeModel

ACT = '{"mode": "ACT", "tool": "t", "args": {}}'
RESULT = CallResult(call_id="c", tool="t", arguments={}, ok=True, lines=())


async def decided(question: str, *entries: ScriptEntry, results: int = 0) -> Decision:
    return await ScriptDecider(entries).decide(
        Briefing(question=question, lang="en", tools=(), results=(RESULT,) * results)
    )


async def test_an_entry_is_the_decision() -> None:
    """The first that matches, its deltas joined."""
    entries = (
        ScriptEntry(match="cancel", deltas=(ACT[:9], ACT[9:])),
        ScriptEntry(match="", text='{"mode": "ASK", "message": "What?"}'),
    )
    assert await decided("Cancel it", *entries) == Act("t", {})
    assert await decided("Hello", *entries) == Ask("What?")


async def test_an_entry_of_a_round_plays_in_that_round_only() -> None:
    """One without plays in any."""
    entries = (
        ScriptEntry(match="", text=ACT, round=0),
        ScriptEntry(match="", text='{"mode": "NOOP", "message": "Done."}', round=2),
    )
    assert await decided("x", *entries) == Act("t", {})
    assert await decided("x", *entries, results=2) == Noop("Done.")
    with pytest.raises(ModelFailed, match="no entry"):
        await decided("x", *entries, results=1)
    assert await decided("x", *entries, ScriptEntry(match="", text=ACT), results=1) == Act("t", {})


async def test_an_entry_of_a_round_is_no_draft() -> None:
    """Without tools the others play, as they do in a script without rounds."""
    model = ScriptModel([ScriptEntry(match="", text=ACT, round=0), ScriptEntry(match="", text="It is so.")])
    assert [
        delta.text async for delta in model.stream(Prompt(instructions="", question="q", lang="en"), ())
    ] == ["It is so."]


async def test_what_is_no_decision_is_told() -> None:
    """As of any model."""
    with pytest.raises(BadDecision):
        await decided("x", ScriptEntry(match="", text="It is so."))


async def test_delays_failures_and_silence_are_played(autojump_clock: MockClock) -> None:
    """As in a draft."""
    with pytest.raises(ModelFailed, match="broke"):
        await decided("x", ScriptEntry(match="", text=ACT, delay_ms=1000, error="broke"))
    assert trio.current_time() == pytest.approx(2)
    with trio.move_on_after(5) as scope:
        await decided("x", ScriptEntry(match="", text=ACT, hang=True))
    assert scope.cancelled_caught


async def test_a_decider_goes_with_what_drafts(tmp_path: Path) -> None:
    """The mock, a script, or a language model."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"match": "", "text": ACT, "round": 0}]), encoding="utf-8")
    async with open_decider(f"script:{path}", MockSettings()) as decider:
        assert await decider.decide(Briefing(question="q", lang="en", tools=())) == Act("t", {})
    async with open_decider("mock", MockSettings()) as decider:
        assert isinstance(decider, MockDecider)
    assert isinstance(make_model_decider(FakeModel(), 100), ModelDecider)


@pytest.mark.parametrize("wrong", [-1, "one", 1.5])
async def test_a_round_is_a_number_of_results(wrong: Any, tmp_path: Path) -> None:
    """The entry is named."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"match": "", "text": ACT, "round": wrong}]), encoding="utf-8")
    with pytest.raises(UsageError, match="entry 1"):
        async with open_decider(f"script:{path}", MockSettings()):
            pass
