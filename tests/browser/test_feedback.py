"""The thumbs below an answer in a browser, against a real server: stored, killed, started again, and still there."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..e2e.test_process import KB, command, environment, serve
from . import ask, check_accessibility
from .conftest import OpenPage

pytestmark = pytest.mark.proof


def exported(folder: Path) -> list[dict[str, Any]]:
    """What `agent feedback export` prints, also while the server runs."""
    done = subprocess.run(
        command("feedback", "export", "--data", str(folder / "data")),
        env=environment(),
        capture_output=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def started_again(folder: Path, port: int) -> Iterator[None]:
    """Run a server on the port and the data of one that was killed."""
    again = command("serve", "--port", str(port), "--kb", str(KB), "--data", str(folder / "data"))
    with subprocess.Popen(again, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert f":{port}/" in process.stdout.readline()
            yield
        finally:
            process.kill()


@pytest.mark.parametrize(("width", "scheme", "lang"), [(360, "dark", "sv"), (1280, "light", "en")])
def test_an_answer_is_rated_with_a_word(
    tmp_path: Path, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """By keyboard alone; markup in the words is text. A kill takes nothing that was kept, and a reload shows it."""
    words = "<b>Too old</b>"
    with serve(tmp_path, "--pace-ms", "0", "--data", str(tmp_path / "data")) as (process, port):
        page = open_page(
            f"http://127.0.0.1:{port}/",
            width=width,
            scheme=scheme,
            lang=lang,
            expected=r"WebSocket|ERR_CONN|openers",
        )
        ask(page, "Vad kostar en retur?" if lang == "sv" else "What does a return cost?")
        down = page.locator(".thumb.down")
        assert down.get_attribute("aria-label") == ("Dåligt svar" if lang == "sv" else "Bad answer")
        check_accessibility(page)
        down.focus()
        page.keyboard.press("Enter")
        page.locator(".thumb.down[aria-pressed=true]").wait_for()
        page.locator(".rating textarea").fill(words)
        page.locator(".rating form button").focus()
        page.keyboard.press("Enter")
        told = "Sparat, med dina ord." if lang == "sv" else "Kept, with your words."
        page.locator(".rating .remark", has_text=told).wait_for()
        check_accessibility(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        [kept] = exported(tmp_path)
        process.kill()
        process.wait()
        page.locator("#state[data-state=disconnected]").wait_for()
        page.locator(".thumb.up").click()
        lost = "Anslutningen bröts" if lang == "sv" else "The connection was lost"
        page.locator(".rating .remark", has_text=lost).wait_for()
        assert page.locator(".rating textarea").input_value() == words
    assert (kept["verdict"], kept["text"], kept["model"]) == ("down", words, "mock")
    assert "59 kr" in kept["answer"]
    assert exported(tmp_path) == [kept]
    with started_again(tmp_path, port):
        page.reload()
        page.locator("#state[data-state=idle]").wait_for()
        page.locator(".rating .remark", has_text=words).wait_for()
        assert page.locator(".thumb.down").get_attribute("aria-pressed") == "true"
        page.locator(".thumb.up").click()
        page.locator(".rating .remark", has_text="Sparat" if lang == "sv" else "Kept").wait_for()
    (changed,) = exported(tmp_path)
    assert (changed["verdict"], changed["message_id"], changed["answer"]) == (
        "up",
        kept["message_id"],
        kept["answer"],
    )
