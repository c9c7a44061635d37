"""The demo plays its five scenes with the real server, and says so when a promise does not hold."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import trio.testing

from agent import log
from agent.errors import UsageError
from agent.llm.script import ScriptEntry
from agent.testing import demo
from agent.testing.network import inline

KB = Path(__file__).parents[2] / "kb"


async def played() -> tuple[int, str]:
    """Return the demo's status and all that it wrote."""
    shown: list[str] = []
    status = await demo.play(shown.append, inline)
    return status, "".join(shown)


async def test_the_five_scenes_go_as_promised(autojump_clock: trio.testing.MockClock) -> None:
    """Each scene is told and shown, within half a minute."""
    start = trio.current_time()
    status, shown = await played()
    assert status == 0
    assert trio.current_time() - start < 30
    for words in (
        "1. A grounded answer",
        "kb/pricing.md:",
        "2. A refused invention",
        "refused: the draft held a number that no source holds",
        "3. A cancel",
        "4. A confirmed action",
        "schedule_callback",
        "5. A duplicate confirm",
        "ignored: it was confirmed before and runs only once",
        "All five went as promised",
    ):
        assert words in shown
    assert "649" not in shown.replace("the model drafts 649 kr", "")


async def test_every_line_that_it_cites_stands_in_the_shipped_knowledge_base(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whoever opens the file reads the same line there, with that number."""
    _, shown = await played()
    cited = re.findall(r"^ {5}\[\d\] kb/(\S+?):([\d,-]+)(?: \(.*\))?\n((?: {7}.*\n)+)", shown, re.MULTILINE)
    assert len(cited) >= 3
    assert shown.count("] kb/") == len(cited)
    for name, places, snippet in cited:
        lines = (KB / name).read_text(encoding="utf-8").splitlines()
        shown_lines = {line.strip() for line in snippet.splitlines()}
        assert shown_lines <= set(lines)
        for place in places.split(","):
            first, _, last = place.partition("-")
            assert set(lines[int(first) - 1 : int(last or first)]) <= shown_lines


def test_an_installation_without_the_knowledge_base_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a wheel it stands inside the package, from source beside it; elsewhere there is no demo."""
    assert demo.find_shipped_kb() == KB
    package = tmp_path / "agent"
    monkeypatch.setattr(demo, "__file__", str(package / "testing" / "demo.py"))
    with pytest.raises(UsageError, match="install agent-server again"):
        demo.find_shipped_kb()
    (package / "kb").mkdir(parents=True)
    (package / "kb" / "pricing.md").touch()
    assert demo.find_shipped_kb() == package / "kb"


async def test_a_promise_that_does_not_hold_ends_it(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Were the price right, there would be nothing to refuse: the demo notices, and status 1 says so."""
    honest = tuple(
        ScriptEntry(match=entry.match, text="The Premium plan costs 599 kr per month.")
        if entry.match == demo.PREMIUM
        else entry
        for entry in demo.SCRIPT
    )
    monkeypatch.setattr(demo, "SCRIPT", honest)
    status, shown = await played()
    assert status == 1
    assert "This is not what was promised: the answer was not refused" in shown
    assert "3. A cancel" not in shown


async def test_a_scene_that_hangs_ends_it(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """A model that says nothing more is not waited for."""
    hanging = (ScriptEntry(match=demo.PRICE, hang=True), *demo.SCRIPT[1:])
    monkeypatch.setattr(demo, "SCRIPT", hanging)
    status, shown = await played()
    assert status == 1
    assert "no answer came" in shown


async def test_the_command_prints(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    autojump_clock: trio.testing.MockClock,
) -> None:
    """`agent demo` writes the scenes to standard output and configures the log to stay quiet."""
    configured: list[tuple[str, str]] = []
    monkeypatch.setattr(log, "configure", lambda *chosen: configured.append(chosen))

    async def play(write: Callable[[str], None]) -> int:
        write("1. scene")
        return 7

    monkeypatch.setattr(demo, "play", play)
    assert await demo.demo() == 7
    assert capsys.readouterr().out == "1. scene"
    assert configured == [("console", "error")]
