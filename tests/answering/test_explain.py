"""Why an answer is what it is: told to the operator who asks, in all its parts, and to nobody else."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import structlog

from agent import log
from agent.answering.brain import GroundedBrain
from agent.answering.settings import AnswerSettings
from agent.compose.adapters import Adapters
from agent.compose.answering import log_reasons
from agent.compose.composition import open_composition
from agent.ports.brain import Question, TurnEvent
from agent.ports.draft import Drafter
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.metrics import Metrics
from agent.settings import Settings
from agent.testing.models import FakeDrafter

T = TypeVar("T")
PRICES = """\
# Plans

| Plan | Price |
| --- | --- |
| Basic | 149 kr |
| Standard | 299 kr |

# Fees

A paper invoice costs 39 kr.
"""
BASE = KnowledgeBase.build([SourceFile.of("kb/a.md", PRICES)])
ASKED = "What does the Standard plan cost?"


async def why(model: Drafter, question: str = ASKED, **settings: Any) -> list[str]:
    """Return what is told of one turn."""
    told: list[str] = []

    brain = GroundedBrain(BASE, model, AnswerSettings(**settings), told.extend)
    await brain.answer(Question(id="1", text=question, lang="en", at=0.0), lambda _: None)
    return told


async def test_an_answer_is_told_in_all_its_parts() -> None:
    """Query, sections with scores, draft, each number with what holds it, and how it ended."""
    told = await why(FakeDrafter("Standard is 299 kr, and Basic 149 kr.\nAgain 299 kr."))
    assert told[0] == f"query (en): {ASKED}"
    assert told[1].startswith("found: 3 statements in 2 sections, of which the model is given 3")
    assert told[2].split("  ")[2:] == ["kb/a.md:5-6", "Plans", "(2 statements)"]
    assert 0 < float(told[2].split()[0]) <= 1
    draft = told.index("draft 1:")
    assert told[draft + 1 : draft + 3] == ["  Standard is 299 kr, and Basic 149 kr.", "  Again 299 kr."]
    assert told[draft + 3 :] == [
        "number '299 kr': held by kb/a.md:6: | Plan | Price | | Standard | 299 kr | Plans",
        "number '149 kr': held by kb/a.md:5: | Plan | Price | | Basic | 149 kr | Plans",
        "answered: confidence med, 2 citations",
    ]


async def test_a_refused_number_is_told_with_the_nearest() -> None:
    """Of both drafts: the same value first, then the same kind, then what is near it."""
    told = await why(FakeDrafter("It is 289 kr.", "It is 299 days, or 38 kr."))
    refused = [line.split(":", 1) for line in told if line.startswith("number")]
    assert [line[0] for line in refused] == ["number '289 kr'", "number '299 days'", "number '38 kr'"]
    assert all("REFUSED" in line[1] for line in refused)
    nearest = [line[1].partition("nearest ")[2].partition(" in ")[0] for line in refused]
    assert nearest == ["'299 kr'", "'299 kr'", "'39 kr'"]
    assert told[-1] == "refused: number_mismatch (Verification failed: Number mismatch)"


async def test_nothing_found_tells_what_came_nearest() -> None:
    """However unsure that is, and no draft was made."""
    told = await why(FakeDrafter("never"), "Who won the cup with that invoice of a hundred boats?")
    assert told[1:3] == ["found: nothing that is sure enough", "nearest, too unsure to count:"]
    assert "kb/a.md" in told[3]
    assert told[-1] == "refused: no_sources (No sources found)"
    assert "draft 1:" not in told


async def test_a_courtesy_and_a_model_that_fails_are_told_too() -> None:
    """So that no question is without a reason."""
    assert await why(FakeDrafter(""), "hello") == [
        "no question: greeting; it has a fixed answer, and nothing is looked up"
    ]
    assert (await why(FakeDrafter("  ")))[-2:] == [
        "the model failed: the draft is empty",
        "refused: model_failed (The model gave no answer)",
    ]


@pytest.mark.parametrize("form", [{"verify": "sentence"}, {"binding": "strict"}])
async def test_every_way_tells_its_draft_and_its_numbers(form: dict[str, Any]) -> None:
    """Sentence by sentence too, where what was said already stands."""
    told = await why(FakeDrafter("Standard is 299 kr. Basic is 148 kr.", "Standard is 298 kr."), **form)
    assert "draft 1:" in told
    assert any(line.startswith("number '148 kr': REFUSED") for line in told)
    stood = await why(FakeDrafter("Standard is 299 kr. Then more."), **form)
    assert any(line.startswith("number '299 kr': held by kb/a.md:6") for line in stood)


async def test_claims_tell_what_was_dropped() -> None:
    """And a draft that is none of what was asked for says so."""
    claims = [{"text": "Standard is 299 kr.", "evidence": [1]}, {"text": "It is 7 kr.", "evidence": [1]}]
    told = await why(FakeDrafter(json.dumps(claims)), answer="claims")
    assert "dropped, as it does not stand: It is 7 kr." in told
    assert any(line.startswith("number '7 kr': REFUSED") for line in told)
    assert any(line.startswith("number '299 kr': held by") for line in told)
    told = await why(FakeDrafter("no JSON", "no JSON"), answer="claims")
    assert sum("not the JSON" in line for line in told) == 2


async def test_nobody_listens_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no line is made either."""

    def never(*_: object) -> list[str]:
        raise AssertionError

    for name in ("describe_search", "describe_draft", "describe_end"):
        monkeypatch.setattr(f"agent.answering.brain.{name}", never)
    brain = GroundedBrain(BASE, FakeDrafter("It is 299 kr."), AnswerSettings())
    events: list[TurnEvent] = []
    await brain.answer(Question(id="1", text=ASKED, lang="en", at=0.0), events.append)
    assert events


@pytest.fixture
def restored() -> Iterator[None]:
    """Put logging back as it was."""
    root, before = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.configure(**before)


async def logged(level: log.Level, folder: Path) -> str:
    """Return the log of a server's turn at a level, with a library's own lines."""
    stream = io.StringIO()
    log.configure("json", level, stream)
    (folder / "kb").mkdir(exist_ok=True)
    (folder / "kb" / "a.md").write_text(PRICES)

    async def work(function: Callable[[], T]) -> T:
        return function()

    settings = Settings.of(kb=folder / "kb", vectors="off", log_level=level)
    model = FakeDrafter("Standard is 289 kr.", "Standard is 299 kr.")
    chosen = Adapters(model=model, run_sync=work)
    async with open_composition(
        settings=settings, adapters=chosen, observer=Metrics(), on_ledger_trouble=lambda _: None
    ) as made:
        assert made.documents.knowledge is not None
        await made.documents.knowledge.read()
        await made.answering.brain.answer(Question(id="1", text=ASKED, lang="en", at=0.0), lambda _: None)
    library = logging.getLogger("markdown_it.rules")
    library.setLevel(logging.DEBUG)
    for say in (library.debug, library.info, library.warning):
        say("a parser's line")
    library.setLevel(logging.NOTSET)
    return stream.getvalue()


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("level", ["info", "warning"])
async def test_the_default_level_says_nothing_of_it(level: log.Level, tmp_path: Path) -> None:
    """Neither a question, nor a draft, nor a number, nor a heading."""
    lines = [json.loads(line) for line in (await logged(level, tmp_path)).splitlines()]
    said = json.dumps([{name: each for name, each in line.items() if name != "timestamp"} for line in lines])
    for word in ("Standard", "289", "299", "Plans", "why"):
        assert word not in said


@pytest.mark.usefixtures("restored")
async def test_the_debug_level_says_all_of_it(tmp_path: Path) -> None:
    """And of libraries only what they warn of."""
    lines = [json.loads(line) for line in (await logged("debug", tmp_path)).splitlines()]
    why = [line["text"] for line in lines if line["event"] == "why"]
    for part in ("query (en): ", "found: ", "draft 1:", "  Standard is 289 kr.", "draft 2:", "answered: "):
        assert any(line.startswith(part) for line in why), part
    assert any("REFUSED" in line and "nearest '299 kr'" in line for line in why)
    assert any(line.startswith("number '299 kr': held by kb/a.md:6") for line in why)
    assert [line["level"] for line in lines if line.get("library")] == ["warning"]


@pytest.mark.usefixtures("restored")
def test_a_line_that_says_why_is_withheld_wherever_it_turns_up() -> None:
    """Its field is one for people's words."""
    stream = io.StringIO()
    log.configure("json", "info", stream)
    log_reasons(["It is 299 kr."])
    structlog.get_logger().info("why", text="It is 299 kr.")
    said = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert not [line for line in said if "299" in str(line | {"timestamp": ""})]
