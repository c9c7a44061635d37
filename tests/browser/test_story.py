"""The page of stories in a browser: begin, direct, choose, stop and keep, retell, fork, lock a state, come back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ..e2e.test_process import serve
from . import check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that tells slowly enough to be stopped."""
    with serve(tmp_path_factory.mktemp("slow"), "--pace-ms", "60", "--data", "memory") as (_, port):
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
    for part in page.locator("#book summary").all()[1:]:
        part.click()
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#open-shelf").click()
    page.locator("#stories .title", has_text=f"The mill {width}").click()
    page.locator("#scenes li[data-scene]:nth-child(2)").wait_for()


def test_a_stopped_scene_is_not_kept_unless_its_reader_keeps_it(slow: str, open_page: OpenPage) -> None:
    """Escape stops; what was read can become the reader's own scene."""
    page = open_page(slow)
    begin(page, "The lamp")
    page.locator("#text").fill("Mira lights the lamp.")
    page.locator("#send").click()
    page.locator("#scenes .telling .text", has_text="Mira").wait_for()
    page.locator("#text").press("Escape")
    page.locator("#told blockquote").wait_for()
    assert page.locator("#scenes li").count() == 0
    kept = page.locator("#told blockquote").inner_text()
    page.locator("#told button").click()
    page.locator("#scenes li[data-scene]").wait_for()
    assert page.locator("#scenes li[data-scene] .text").inner_text() == kept


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
    page.on("dialog", lambda dialog: dialog.accept("elsewhere"))
    page.get_by_role("button", name="Go on from here: scene 1").click()
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
        cast.get_by_label("Name").fill(name)
        cast.get_by_label("Kind").select_option(kind)
        cast.get_by_role("button", name="Add").click()
        cast.locator("li", has_text=name).wait_for()
    tell(page, "The copper key lies in the mill.", 1, "#own")
    states = page.locator("#book details[data-part=states]")
    states.locator("summary").click()
    states.get_by_role("button", name="Lock: copper key").click()
    states.get_by_role("button", name="Unlock: copper key").wait_for()
    check_accessibility(page)
