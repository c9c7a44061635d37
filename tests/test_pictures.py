"""The pictures of the README, and the page that they show, in a browser."""

from pathlib import Path

import pytest

from agent import serve

from .browser import BROWSER, open_tab
from .pictures import HEIGHT, PAGE, QUESTIONS, ROOT, TURN, WIDTH, draw_turn, record_turn

README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_shows_them() -> None:
    """Both are there, and small enough to load at once."""
    for picture in (PAGE, TURN):
        assert f"({picture.relative_to(ROOT)})" in README
        assert picture.stat().st_size < 150_000
    assert PAGE.read_bytes().startswith(b"\x89PNG")


@pytest.mark.proof
async def test_the_turn_is_one_that_a_server_has() -> None:
    """The same frames, and the states of the table: `python -m tests.pictures` draws it again."""
    async with serve(kb=ROOT / "kb", port=0, vectors="off") as server:
        assert draw_turn(await record_turn(server.websocket_url)) == TURN.read_text("utf-8")


@pytest.mark.proof
async def test_the_page_answers_in_a_browser(tmp_path: Path) -> None:
    """An answer with its mark and its source, the lines around it, a card that is confirmed, and no error."""
    if BROWSER is None:
        pytest.skip("chromium is not installed")
    async with serve(kb=ROOT / "kb", port=0) as server, open_tab(tmp_path) as tab:
        await tab.open(server.url, WIDTH, HEIGHT)
        for question in QUESTIONS:
            await tab.ask(question)
        text = await tab.run("document.querySelector('#log .answer').textContent")
        assert "59 kr" in text
        assert "[1] kb/policies.md" in text
        await tab.run("document.querySelector('#log .answer .open').click()")
        await tab.wait_for("document.getElementById('source').open")
        await tab.wait_for("document.getElementById('source').textContent.includes('Return shipping')")
        await tab.run("document.getElementById('source').close()")
        await tab.run("document.querySelector('#log .card .confirm').click()")
        await tab.wait_for("document.querySelector('#log .card .outcome')")
        assert tab.errors == []
