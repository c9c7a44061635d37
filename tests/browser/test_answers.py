"""Answers in a browser: their sources beside them and over their marks, what is folded and what is copied."""

import re
from typing import TYPE_CHECKING

import pytest

from . import ask, check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.proof

QUESTION = "How much is the Standard plan and when do you open?"


def lies_over(page: "Page", mark: int) -> bool:
    """Return whether the preview stands within the window and does not cover the mark."""
    box, of = page.locator("#preview").bounding_box(), page.locator("#log .mark").nth(mark).bounding_box()
    size = page.viewport_size
    assert box is not None
    assert of is not None
    assert size is not None
    inside = box["x"] >= 0 and box["x"] + box["width"] <= size["width"] and box["y"] >= 0
    return inside and (box["y"] + box["height"] <= of["y"] or box["y"] >= of["y"] + of["height"])


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_a_mark_shows_its_source_while_it_is_pointed_at(
    address: str, open_page: OpenPage, width: int, scheme: str
) -> None:
    """With file, heading and words. It stays while it is pointed at itself, and goes when neither is."""
    page = open_page(address, width=width, scheme=scheme)
    ask(page, "What does a return cost?")
    preview = page.locator("#preview")
    mark = page.locator("#log .mark").first
    mark.hover()
    preview.wait_for()
    assert "kb/policies.md, line 11" in preview.inner_text()
    assert "Policies and terms › Returns" in preview.inner_text()
    assert "Return shipping costs 59 kr" in preview.inner_text()
    assert mark.get_attribute("aria-describedby") == "preview"
    assert lies_over(page, 0)
    check_accessibility(page)
    preview.hover()
    page.wait_for_timeout(500)
    assert preview.is_visible()
    page.locator("#question").hover()
    preview.wait_for(state="hidden")


def test_a_mark_shows_its_source_while_it_has_the_focus(address: str, open_page: OpenPage) -> None:
    """Of the keyboard. Escape closes it, moves nothing and stops nothing; pressing the mark opens the file."""
    page = open_page(address)
    ask(page, QUESTION)
    page.locator("#log .text").last.evaluate("(text) => { text.tabIndex = -1; text.focus(); }")
    preview = page.locator("#preview")
    page.keyboard.press("Tab")
    preview.wait_for()
    assert "kb/pricing.md" in preview.inner_text()
    page.keyboard.press("Tab")
    page.locator("#preview", has_text="Discounts").wait_for()
    assert lies_over(page, 1)
    page.keyboard.press("Escape")
    assert preview.is_hidden()
    focused = "document.activeElement.textContent"
    assert page.evaluate(focused) == "[2]"
    page.keyboard.press("Enter")
    page.locator("#source[open] .cited").first.wait_for()
    assert preview.is_hidden()
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "[2]"


def test_sources_stand_beside_the_answer_where_there_is_room(address: str, open_page: OpenPage) -> None:
    """With their words, right of the answer and at its height; on a phone below it. No text moves when they come."""
    for width in (1100, 360):
        page = open_page(address, width=width)
        ask(page, QUESTION)
        text = page.locator("#log .answer .text").last.bounding_box()
        sources = page.locator("#log .answer .sources").last.bounding_box()
        assert text is not None
        assert sources is not None
        beside = sources["x"] >= text["x"] + text["width"] and abs(sources["y"] - text["y"]) < 24
        assert beside == (width == 1100)
        assert page.locator("#log .cite pre").first.is_visible() == beside
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        check_accessibility(page)


def test_the_first_statement_stands_first(address: str, open_page: OpenPage) -> None:
    """Where it is quoted from stands behind it."""
    page = open_page(address)
    ask(page, "What does a return cost?")
    told = page.locator("#log .answer .text").inner_text()
    assert told.startswith("Return shipping costs 59 kr")
    assert "From “Policies and terms › Returns”" in told


def test_an_answer_is_copied_with_its_sources(address: str, open_page: OpenPage) -> None:
    """As text with the numbers in it, and a list that says where each stands."""
    page = open_page(address, permissions=["clipboard-read", "clipboard-write"])
    ask(page, QUESTION)
    page.get_by_role("button", name="Copy with sources").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"free for 14 days\. \[1\]", copied)
    assert re.search(r"\nSources:\n\[1\] kb/pricing\.md, line \d+ \(.*Free trial\)\n\[2\] ", copied)


def test_the_page_does_not_jump(address: str, open_page: OpenPage) -> None:
    """While it connects, when the memory appears, and while an answer comes."""
    for width in (360, 800, 1280):
        page = open_page("about:blank", width=width)
        page.add_init_script(
            "window.moved = 0; new PerformanceObserver((list) => { for (const each of list.getEntries())"
            " window.moved += each.value; }).observe({ type: 'layout-shift', buffered: true });"
        )
        page.goto(address)
        page.locator("#memory-open").wait_for()
        ask(page, "What does a return cost?")
        page.wait_for_timeout(200)
        assert page.evaluate("window.moved") < 0.01


@pytest.mark.parametrize("lang", ["en", "sv"])
def test_the_question_has_its_place_on_a_phone(address: str, open_page: OpenPage, lang: str) -> None:
    """At least 230 px at 360, while an answer comes too; what right-to-left scripts write begins at the right."""
    page = open_page(address, width=360, lang=lang)
    page.locator("#state[data-state=idle]").wait_for()
    width = "document.getElementById('question').getBoundingClientRect().width"
    assert page.evaluate(width) >= 230
    # In one task: the page shuts the button again with its next state.
    wide, shown = page.locator("#stop").evaluate(
        f"(stop) => {{ stop.disabled = false; return [{width}, stop.offsetWidth > 0]; }}"
    )
    assert wide >= 230
    assert shown
    check_accessibility(page)
    page.locator("#question").fill("كم تكلفة الإرجاع؟")
    assert page.evaluate("document.getElementById('question').matches(':dir(rtl)')")
