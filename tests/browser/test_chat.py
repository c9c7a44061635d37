"""The chat page in a browser: an answer with its sources, a card, and the rules that every page keeps."""

import pytest

from . import ask, check_accessibility
from .conftest import OpenPage

pytestmark = pytest.mark.proof


@pytest.mark.parametrize(  # of each two of the three, all pairs
    ("width", "scheme", "lang"),
    [(360, "light", "en"), (360, "dark", "sv"), (1280, "light", "sv"), (1280, "dark", "en")],
)
def test_a_question_is_answered_with_its_source(
    address: str, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """With a mark in the answer and the file below it; axe finds nothing before or after, and no line is too wide."""
    page = open_page(address, width=width, scheme=scheme, lang=lang)
    page.locator("#state[data-state=idle]").wait_for()
    check_accessibility(page)
    ask(page, "Vad kostar en retur?" if lang == "sv" else "What does a return cost?")
    answer = page.locator("#log .answer")
    assert "59 kr" in answer.inner_text()
    assert f"[1] kb/{'sv/' * (lang == 'sv')}policies.md" in answer.inner_text()
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_action_is_confirmed_and_a_source_opened(address: str, open_page: OpenPage) -> None:
    """The card ends with its outcome; the lines of the source stand in their section."""
    page = open_page(address)
    ask(page, "What does a return cost?")
    page.locator("#log .answer .open").first.click()
    page.locator("#source[open]", has_text="Return shipping").wait_for()
    check_accessibility(page)
    page.keyboard.press("Escape")
    ask(page, "Please call me on 070-174 06 05")
    page.locator("#log .card .confirm").click()
    page.locator("#log .card .outcome").wait_for()


def test_the_page_asks_for_three_files(address: str, open_page: OpenPage) -> None:
    """Itself, one style and one script; all else is data."""
    page = open_page(address)
    page.locator("#state[data-state=idle]").wait_for()
    names = "performance.getEntriesByType('resource').map((each) => new URL(each.name).pathname)"
    loaded: list[str] = page.evaluate(names)
    files = [
        each
        for each in loaded
        if each not in ("/openers.json", "/uploads.json", "/favicon.ico", "/static/icon.svg")
    ]
    assert sorted(files) == ["/static/app.js", "/static/style.css"]
