"""A slow model, one that does not answer, a text that is too long, and a server that is away, in a browser."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..e2e.test_process import serve
from . import WAIT, ask, check_accessibility, serve_read
from .conftest import OpenPage

pytestmark = pytest.mark.proof

SCRIPT: list[dict[str, Any]] = [
    {"match": "slow", "text": "Return shipping costs 59 kr.", "delay_ms": 2500},
    {"match": "hang", "hang": True},
    {"match": "", "text": "Return shipping costs 59 kr."},
]
SLOW = "What does a slow return cost?"
HANGS = "What does a return cost if you hang?"
LOST = r"WebSocket connection|net::ERR_"
READING = r"503 .*(openers\.json|readyz)"  # a server that has just started reads its documents


def free_port() -> int:
    """Return a port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server whose model is slow on some questions."""
    folder = tmp_path_factory.mktemp("slow")
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT), "utf-8")
    with serve_read(folder, "--model", f"script:{script}", "--pace-ms", "0", "--data", "memory") as address:
        yield address


@pytest.mark.parametrize(
    ("lang", "words", "stop", "width"),
    [("en", "Writing a draft…", "Stop", 1280), ("sv", "Skriver ett utkast…", "Stopp", 360)],
)
def test_a_slow_model_shows_that_it_is_thought_about(
    address: str, open_page: OpenPage, lang: str, words: str, stop: str, width: int
) -> None:
    """In the place of the answer, until its words come; with a button that stops it, for the keyboard too."""
    page = open_page(address, lang=lang, width=width, scheme="dark")
    page.locator("#question").fill(SLOW)
    page.locator("#state[data-state=idle]").wait_for()
    page.locator("#question").press("Enter")
    progress = page.locator("#log .answer .progress")
    progress.get_by_text(words).wait_for()
    check_accessibility(page)
    page.locator("#log .answer.ended").wait_for()
    assert progress.count() == 0
    assert "59 kr" in page.locator("#log .answer").inner_text()
    page.locator("#question").fill(HANGS)
    page.locator("#question").press("Enter")
    button = progress.get_by_role("button", name=stop)
    button.wait_for()
    button.focus()
    page.keyboard.press("Enter")
    page.locator("#log .answer.ended").nth(1).wait_for()
    assert progress.count() == 0
    assert page.locator("#state").get_attribute("data-state") == "idle"


def test_a_quick_answer_shows_no_progress(address: str, open_page: OpenPage) -> None:
    """Nothing flickers. On a busy machine one answer or another is not quick."""
    page = open_page(address)
    page.evaluate(
        "new MutationObserver(() => { if (document.querySelector('.progress')) window.flickered = true; })"
        ".observe(document.getElementById('log'), { subtree: true, childList: true })"
    )
    flickered = []
    for _ in range(10):
        ask(page, "What does a return cost?")
        flickered.append(page.evaluate("[window.flickered ?? false, window.flickered = undefined][0]"))
        if not flickered[-1]:
            break
    assert flickered[-1] is False, flickered


def test_the_states_are_one_key_away(address: str, open_page: OpenPage) -> None:
    """With the present one lit, live, and what can happen in it; the address says so, for a reload."""
    page = open_page(address)
    page.locator("#state[data-state=idle]").wait_for()
    assert page.locator("#states").is_hidden()
    page.keyboard.press("F2")
    lit = page.locator("#states g.lit")
    page.locator("#states g.lit", has_text="idle").wait_for()
    assert page.url.endswith("?debug=1")
    assert "message / begin_turn → buffering" in page.locator("#states-now").inner_text()
    page.locator("#states-readiness", has_text="ready").wait_for()
    check_accessibility(page)
    page.locator("#question").fill(HANGS)
    page.locator("#question").press("Enter")
    page.locator("#states g.lit", has_text="buffering").wait_for()
    assert lit.count() == 1
    assert "drafted → verifying" in page.locator("#states-now").inner_text()
    page.keyboard.press("Escape")
    page.locator("#states g.lit", has_text="idle").wait_for()
    page.reload()
    page.locator("#states g.lit", has_text="idle").wait_for()
    page.keyboard.press("F2")
    assert page.locator("#states").is_hidden()
    assert not page.url.endswith("?debug=1")


def test_the_operator_sees_why_a_model_does_not_answer(tmp_path: Path, open_page: OpenPage) -> None:
    """With what to do; its user reads that it does not answer, and nothing of the server's insides."""
    url = f"http://127.0.0.1:{free_port()}/v1"
    more = ("--model", "openai:m", "--base-url", url, "--data", "memory")
    with serve(tmp_path, *more) as (_, port):
        page = open_page(f"http://127.0.0.1:{port}/?debug=1", width=360, expected=READING)
        ask(page, "What does a return cost?")
        told = page.locator("#log .answer").inner_text()
        assert "The language model does not answer at the moment." in told
        assert "base-url" not in told
        why = re.compile("does not answer: .*cannot be reached.*start it, or correct base-url")
        page.locator("#states-readiness", has_text=why).wait_for()
        check_accessibility(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    ("lang", "words"),
    [("en", "a question has at most 8000 characters"), ("sv", "en fråga har högst 8000 tecken")],
)
def test_ten_megabytes_are_refused_in_words(address: str, open_page: OpenPage, lang: str, words: str) -> None:
    """With the limit and the size; what stood in the field stays, and can be sent."""
    page = open_page(address, lang=lang, width=360, permissions=["clipboard-read", "clipboard-write"])
    field = page.locator("#question")
    page.locator("#state[data-state=idle]").wait_for()
    field.fill("What does a return cost?")
    page.evaluate("navigator.clipboard.writeText('ab '.repeat(10 * 1024 * 1024 / 3))")
    field.press("Control+v")
    told = page.locator("#told", has_text=words)
    told.wait_for()
    assert "10485783" in told.inner_text()
    assert field.input_value() == "What does a return cost?"
    check_accessibility(page)
    page.evaluate("navigator.clipboard.writeText(' Tell me.')")
    field.press("Control+v")
    assert field.input_value() == "What does a return cost? Tell me."
    assert page.locator("#told").inner_text() == ""
    field.press("Enter")
    page.locator("#log .answer.ended").wait_for()


def test_typing_ends_at_the_limit_with_words(address: str, open_page: OpenPage) -> None:
    """A browser would swallow the rest."""
    page = open_page(address)
    page.locator("#question").fill("x" * 8000)
    page.locator("#question").press("y")
    page.locator("#told", has_text="it would have 8001").wait_for()
    assert page.locator("#question").input_value() == "x" * 8000


def test_an_hour_without_a_server_loses_no_text(tmp_path: Path, open_page: OpenPage) -> None:
    """The page says so, tries again, goes on by itself, and what was typed meanwhile is still there, and sent once."""
    port = free_port()
    page = open_page("about:blank", expected=f"{LOST}|{READING}")
    page.clock.install()
    with serve(tmp_path, "--data", "memory", port=port):
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("#state[data-state=idle]").wait_for()
    page.locator("#state[data-state=disconnected]").wait_for()
    assert "trying again" in page.locator("#state").inner_text()
    field = page.locator("#question")
    field.fill("What does a return cost?")
    for _ in range(6):
        page.clock.fast_forward(10 * 60 * 1000)
        page.wait_for_timeout(100)
    field.press("Enter")
    page.locator("#told", has_text="Your text stays here").wait_for()
    assert field.input_value() == "What does a return cost?"
    check_accessibility(page)
    with serve(tmp_path, "--data", "memory", port=port):
        page.clock.fast_forward(30 * 1000)
        page.locator("#state[data-state=idle]").wait_for(timeout=WAIT)
        page.locator("#told", has_text="stays here").wait_for(state="hidden")
        field.press("Enter")
        page.locator("#log .answer.ended").wait_for()
        assert page.locator("#log .mine").count() == 1


def test_what_was_typed_outlives_a_reload(address: str, open_page: OpenPage) -> None:
    """Until it is sent."""
    page = open_page(address)
    page.locator("#question").fill("What does a return")
    page.reload()
    assert page.locator("#question").input_value() == "What does a return"
    ask(page, "What does a return cost?")
    page.reload()
    assert page.locator("#question").input_value() == ""
