"""The page of stories in a browser: directing, branches, all that a story holds, and talk beside it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ..e2e.test_process import serve
from . import check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that tells slowly enough to be stopped."""
    with serve(tmp_path_factory.mktemp("slow"), "--pace-ms", "120", "--data", "memory") as (_, port):
        yield f"http://127.0.0.1:{port}/story"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page of stories."""
    with serve(tmp_path_factory.mktemp("stories"), "--pace-ms", "0", "--data", "memory") as (_, port):
        yield f"http://127.0.0.1:{port}/story"


def begin(page: "Page", title: str, foundation: str = "A valley without roads.") -> None:
    """Begin a story on the shelf, and wait until it is open."""
    page.locator("#state[data-state=idle]").wait_for()
    page.locator("#new-title").fill(title)
    page.locator("#new-foundation").fill(foundation)
    page.locator("#new button").click()
    page.wait_for_url("**#s*/b*")


def tell(page: "Page", text: str, scenes: int, button: str = "#send") -> None:
    """Send a directive, and wait until the branch shows so many scenes."""
    page.locator("#text").fill(text)
    page.locator(button).click()
    page.locator(f"#scenes li[data-scene]:nth-child({scenes})").wait_for()


def write(page: "Page", **fields: str) -> None:
    """Fill in the form that is open, by the names of its fields, and have it stored."""
    form = page.locator("#form")
    for name, text in fields.items():
        field = form.locator(f"[name={name}]")
        if name == "kind":
            field.select_option(text)
        else:
            field.fill(text)
    page.locator("#form-save").click()
    form.wait_for(state="hidden")


def open_book(page: "Page", part: str) -> "Locator":
    """Open the book beside the reader if need be, and a part of it; return that part."""
    if page.locator("#book").is_hidden():
        page.locator("#open-book").click()
    found = page.locator(f"#book details[data-part={part}]")
    if found.get_attribute("open") is None:
        found.locator("summary").click()
    return found


@pytest.mark.parametrize(("width", "scheme", "lang"), [(360, "dark", "sv"), (1280, "light", "en")])
def test_a_story_is_begun_directed_and_read_again(
    shelf: str, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """Choices are offered and taken; after a reload all is there; axe finds nothing, and no line is too wide."""
    page = open_page(shelf, width=width, scheme=scheme, lang=lang)
    page.locator("#state[data-state=idle]").wait_for()
    check_accessibility(page)
    begin(page, f"The mill {width}")
    tell(page, "Mira hides the copper key in the mill.", 1)
    page.locator("#choices button").first.click()
    page.locator("#scenes li[data-scene]:nth-child(2)").wait_for()
    page.locator("#choices button").first.wait_for()
    check_accessibility(page)
    told = page.locator("#scenes").inner_text()
    page.reload()
    page.locator("#scenes li[data-scene]:nth-child(2)").wait_for()
    assert page.locator("#scenes").inner_text() == told
    page.locator("#open-book").click()
    page.locator("#book details[data-part=tree] button[aria-current=true]").wait_for()
    page.eval_on_selector_all("#book details", "all => all.forEach(each => { each.open = true; })")
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#open-shelf").click()
    page.locator("#stories .title", has_text=f"The mill {width}").click()
    page.locator("#scenes li[data-scene]:nth-child(2)").wait_for()


@pytest.mark.parametrize(("lang", "word"), [("en", "Stories"), ("sv", "Berättelser")])
def test_the_chat_page_links_to_stories(address: str, open_page: OpenPage, lang: str, word: str) -> None:
    """Beside the guide, in the words of its visitor."""
    page = open_page(address, lang=lang)
    page.get_by_role("link", name=word, exact=True).click()
    page.locator("#shelf").wait_for()
    assert page.url.partition("#")[0] == f"{address}story"


def test_a_stopped_scene_is_not_kept_unless_its_reader_keeps_it(slow: str, open_page: OpenPage) -> None:
    """Escape stops, an answer beside the story too; what was read of a scene can become the reader's own."""
    page = open_page(slow)
    begin(page, "The lamp", "A valley" + " and a hill" * 40 + ".")
    page.locator("#text").fill("Mira lights the lamp.")
    page.locator("#send").click()
    page.locator("#scenes .telling .text:not(:empty)").wait_for()
    page.locator("#text").press("Escape")
    page.locator("#told blockquote").wait_for()
    assert page.locator("#scenes li").count() == 0
    kept = page.locator("#told blockquote").inner_text()
    page.locator("#told button").click()
    page.locator("#scenes li[data-scene]").wait_for()
    assert page.locator("#scenes li[data-scene] .text").inner_text() == kept
    page.locator("#text").fill("Where is this?")
    page.locator("#aside").click()
    page.locator("#asides .telling .text", has_text="valley").wait_for()
    page.locator("#text").press("Escape")
    page.locator("#beside").wait_for(state="hidden")
    assert page.locator("#text").input_value() == "Where is this?"
    assert page.locator("#told button").count() == 0


def test_a_scene_is_told_otherwise_undone_and_branched(shelf: str, open_page: OpenPage) -> None:
    """Versions can be picked; a branch goes on from any scene, and the tree leads back."""
    page = open_page(shelf)
    begin(page, "The gate")
    tell(page, "Mira opens the gate.", 1)
    first = page.locator("#scenes li[data-scene] .text").inner_text()
    page.get_by_role("button", name="Tell it otherwise").click()
    page.get_by_role("button", name="Versions").wait_for()
    second = page.locator("#scenes li[data-scene] .text").inner_text()
    page.get_by_role("button", name="Versions").click()
    page.locator(".versions button").click()
    page.locator("#scenes .text", has_text=first[:60]).wait_for()
    tell(page, "Mira shuts the gate.", 2)
    page.get_by_role("button", name="Undo").click()
    page.locator("#scenes li[data-scene]:nth-child(2)").wait_for(state="detached")
    page.get_by_role("button", name="Go on from here: scene 1").click()
    write(page, name="elsewhere")
    page.locator("#said", has_text="elsewhere").wait_for(state="attached")
    tell(page, "Mira sails away.", 2)
    page.locator("#open-book").click()
    branches = page.locator("#book details[data-part=tree] li button")
    branches.first.click()
    page.locator("#scenes li[data-scene]:nth-child(2)").wait_for(state="detached")
    assert branches.count() == 2
    assert second


def test_a_state_is_locked_by_hand(shelf: str, open_page: OpenPage) -> None:
    """The cast is named, the rules find where a thing is, and a hand locks it."""
    page = open_page(shelf)
    begin(page, "The key")
    page.locator("#open-book").click()
    cast = page.locator("#book details[data-part=cast]")
    cast.locator("summary").click()
    for name, kind in (("copper key", "thing"), ("the mill", "place")):
        cast.get_by_role("button", name="Add to the cast").click()
        write(page, name=name, kind=kind)
        cast.locator("h2", has_text=name).wait_for()
    tell(page, "The copper key lies in the mill.", 1, "#own")
    states = page.locator("#book details[data-part=states]")
    states.locator("summary").click()
    states.get_by_role("button", name="Lock: copper key").click()
    states.get_by_role("button", name="Unlock: copper key").wait_for()
    check_accessibility(page)


def test_what_a_story_holds_is_written_and_read_again(shelf: str, open_page: OpenPage) -> None:
    """Its foundation; a chapter, changed, concluded and opened again; the look and the voice of a person."""
    page = open_page(shelf)
    begin(page, "The flood")
    open_book(page, "words").get_by_role("button", name="Change").click()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.key") == "words"
    page.keyboard.press("Enter")
    write(page, title="The great flood", foundation="No roads.")
    chapters = open_book(page, "chapters")
    chapters.get_by_role("button", name="Begin a chapter").click()
    check_accessibility(page)
    write(page, title="Rain", place="the mill", milestones="The wheel breaks")
    chapters.get_by_role("button", name="Change: Rain").click()
    write(page, scenario="The river rises.", direction="to the roof")
    chapters.get_by_role("button", name="Conclude: Rain").click()
    write(page, summary="It rained.")
    chapters.locator("dd", has_text="It rained.").wait_for()
    chapters.get_by_role("button", name="Open again: Rain").press("Enter")
    chapters.locator("dd", has_text="It rained.").wait_for(state="detached")
    assert page.evaluate("document.activeElement.textContent") == "Conclude"
    cast = open_book(page, "cast")
    cast.get_by_role("button", name="Add to the cast").click()
    write(page, name="Mira", look="small")
    cast.get_by_role("button", name="Change: Mira").click()
    write(page, voice="dry")
    check_accessibility(page)
    held = [open_book(page, part).inner_text() for part in ("words", "chapters", "cast")]
    for number, words in enumerate(
        (
            ("No roads.",),
            ("Rain", "the mill", "The river rises.", "to the roof", "The wheel breaks"),
            ("Mira", "small", "dry"),
        )
    ):
        assert all(each in held[number] for each in words)
    page.reload()
    page.locator("#title", has_text="The great flood").wait_for()
    open_book(page, "cast").locator("h2").wait_for()
    assert [open_book(page, part).inner_text() for part in ("words", "chapters", "cast")] == held


def test_talk_beside_the_story_stands_apart(shelf: str, open_page: OpenPage) -> None:
    """It is there after a reload, in a list of its own, and in no text of the story; its choices stay."""
    page = open_page(shelf)
    begin(page, "The question")
    tell(page, "Mira waits.", 1)
    page.locator("#choices button").first.wait_for()
    choices = page.locator("#choices").inner_text()
    page.locator("#text").fill("Whose valley?")
    page.locator("#aside").press("Enter")
    asides = page.locator("#asides .aside")
    asides.wait_for()
    told = asides.inner_text()
    assert told.startswith("Whose valley?")
    assert (page.locator("#scenes li").count(), page.locator("#choices").inner_text()) == (1, choices)
    check_accessibility(page)
    page.reload()
    page.locator("#beside summary").click()
    assert asides.inner_text() == told
    story = page.url.partition("#")[2].partition("/")[0]
    text = page.request.get(f"{shelf.removesuffix('/story')}/stories/{story}/export?form=markdown").text()
    assert "The question" in text
    assert "valley?" not in text
