"""A script's entries, played; and what is said of one that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from agent.errors import ModelFailed, UsageError
from agent.llm.open import open_drafter
from agent.llm.script import ScriptModel
from agent.llm.settings import MockSettings
from agent.ports.draft import Drafter, Prompt


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(*entries: object) -> Drafter:
        path = tmp_path / "script.json"
        path.write_text(json.dumps(entries), encoding="utf-8")
        return ScriptModel.load(path)

    return write


async def drafted(model: Drafter, question: str, attempt: int = 0) -> list[str]:
    return [
        delta.text
        async for delta in model.stream(
            Prompt(instructions="", question=question, lang="en", attempt=attempt), ()
        )
    ]


async def test_deltas_are_played_as_they_are(script: Any) -> None:
    """Each string of `deltas` is one delta, empty ones included."""
    model = script({"match": "price", "deltas": ["It is ", "", "29", "9 kr"]})
    assert await drafted(model, "the price?") == ["It is ", "", "29", "9 kr"]


async def test_a_text_is_one_delta(script: Any) -> None:
    """`text` is played whole."""
    assert await drafted(script({"match": "price", "text": "It is 299 kr."}), "price") == ["It is 299 kr."]


async def test_the_first_entry_that_matches_wins(script: Any) -> None:
    """The match is a substring, whatever its case; an empty one matches everything."""
    model = script(
        {"match": "ÖPPET", "text": "a"}, {"match": "öppettider", "text": "b"}, {"match": "", "text": "c"}
    )
    assert await drafted(model, "Era öppettider?") == ["a"]
    assert await drafted(model, "price?") == ["c"]


async def test_a_redraft_plays_the_same_entry(script: Any) -> None:
    """The attempt makes no difference."""
    model = script({"match": "", "text": "a"})
    assert await drafted(model, "q", attempt=1) == ["a"]


async def test_no_match_is_a_failure_of_the_model(script: Any) -> None:
    """A question that no entry is for fails as a model does."""
    with pytest.raises(ModelFailed):
        await drafted(script({"match": "price", "text": "a"}), "hours?")


async def test_the_delay_is_before_each_delta(script: Any, autojump_clock: MockClock) -> None:
    """`delay_ms` is waited before every delta and before an error."""
    model = script({"match": "", "deltas": ["a", "b"], "delay_ms": 500, "error": "gone"})
    stream = model.stream(Prompt(instructions="", question="q", lang="en"), ())
    for count, text in enumerate("ab", 1):
        assert (await anext(stream)).text == text
        assert trio.current_time() == pytest.approx(0.5 * count)
    with pytest.raises(ModelFailed, match="gone"):
        await anext(stream)
    assert trio.current_time() == pytest.approx(1.5)


async def test_a_hang_says_nothing_more_until_it_is_cancelled(script: Any, autojump_clock: MockClock) -> None:
    """After its deltas a hanging entry waits for ever."""
    model = script({"match": "", "deltas": ["a"], "hang": True})
    seen = []
    with trio.move_on_after(3600):
        async for delta in model.stream(Prompt(instructions="", question="q", lang="en"), ()):
            seen.append(delta.text)
    assert seen == ["a"]
    assert trio.current_time() == pytest.approx(3600)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "script.json: "),
        ("{}", "script.json: Expected `array`"),
        ('[{"match": "a", "text": "b"}', "script.json: "),
        ('[{"match": "a", "text": "b"}, {"text": "b"}]', "entry 2: .*match"),
        ('[{"match": 1, "text": "b"}]', r"entry 1: .*\$.match"),
        ('[{"match": "a", "txet": "b"}]', "entry 1: .*txet"),
        ('[{"match": "a"}]', "entry 1: needs"),
        ('[{"match": "a", "text": "b", "deltas": []}]', "entry 1: has both"),
        ('[{"match": "a", "error": "b", "hang": true}]', "entry 1: has both"),
        ('[{"match": "a", "text": "b", "delay_ms": -1}]', r"entry 1: .*delay_ms"),
        ('[{"match": "a", "text": "b", "delay_ms": "1"}]', r"entry 1: .*delay_ms"),
        ('["a"]', "entry 1: "),
        ("[" * 5000 + "]" * 5000, "script.json: "),
    ],
)
async def test_a_wrong_script_is_a_one_line_error(tmp_path: Path, text: str, problem: str) -> None:
    """The error names the file, the entry counted from 1, and what is wrong with it."""
    path = tmp_path / "script.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=problem) as raised:
        await open_drafter(f"script:{path}", MockSettings()).__aenter__()
    assert "\n" not in str(raised.value)


async def test_a_script_that_is_not_there_is_a_one_line_error(tmp_path: Path) -> None:
    """A missing file is named."""
    with pytest.raises(UsageError, match=r"none\.json: cannot be read"):
        await open_drafter(f"script:{tmp_path / 'none.json'}", MockSettings()).__aenter__()


async def test_a_script_that_is_not_utf8_is_a_one_line_error(tmp_path: Path) -> None:
    """Bytes that are no text are named like any other fault."""
    path = tmp_path / "script.json"
    path.write_bytes(b'[{"match": "\xff", "text": "a"}]')
    with pytest.raises(UsageError, match=r"script\.json"):
        await open_drafter(f"script:{path}", MockSettings()).__aenter__()
