"""Conversations on the chat page: kept by the server, the same in every tab, found, renamed and deleted."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ..e2e.test_process import serve
from . import WAIT, ask, check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocketRoute

pytestmark = pytest.mark.proof

RETURN = "What does a return cost?"
PLAN = "What does the Standard plan cost?"
LOST = r"WebSocket connection to .* failed|ERR_CONNECTION|openers\.json"
REMEMBERS = ("--pace-ms", "0", "--memory", "on", "--data")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that remembers, of the documents in `kb/`."""
    folder = tmp_path_factory.mktemp("conversations")
    with serve(folder, *REMEMBERS, str(folder / "data")) as (_, port):
        yield f"http://127.0.0.1:{port}/"


def titles(page: "Page") -> list[str]:
    """The titles in the list, as they stand."""
    return page.locator("#thread-list .title > span:first-child").all_inner_texts()


def wait_for_title(page: "Page", title: str) -> None:
    """Wait until the list has a title."""
    page.locator("#thread-list .title", has_text=title).first.wait_for(state="attached")


def choose(page: "Page", title: str, choice: str) -> None:
    """Open the choices of a conversation with the keys, and press one of them."""
    row = page.locator("#thread-list .thread", has_text=title).first
    row.locator(".row > button").last.focus()
    page.keyboard.press("Enter")
    row.get_by_role("button", name=choice).focus()
    page.keyboard.press("Enter")


def test_a_second_tab_follows_the_first(address: str, open_page: OpenPage) -> None:
    """The answer comes with its source; a reload, and a new tab, show the same."""
    one = open_page(address)
    ask(one, RETURN)
    wait_for_title(one, RETURN)
    two = one.context.new_page()
    two.goto(address)
    two.locator("#log .answer", has_text="59 kr").wait_for()
    ask(one, PLAN)
    two.locator("#log .answer", has_text="299 kr").wait_for()
    two.locator("#log .answer .sources").nth(1).wait_for()
    before = one.locator("#log .answer .bubble .text").all_inner_texts()
    one.reload()
    one.locator("#log .answer").nth(1).wait_for()
    assert one.locator("#log .answer .bubble .text").all_inner_texts() == before
    assert titles(one) == [RETURN]
    stranger = open_page(address)
    stranger.locator("#state[data-state=idle]").wait_for()
    assert stranger.locator("#log > li").count() == 0
    assert RETURN not in titles(stranger)


@pytest.mark.parametrize(("width", "scheme", "lang"), [(360, "dark", "sv"), (1280, "light", "en")])
def test_the_list_is_worked_with_the_keys(
    address: str, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """A new one by one key, back to the first, renamed, searched and deleted; axe finds nothing on the way."""
    page = open_page(address, width=width, scheme=scheme, lang=lang)
    words = {
        "en": ("Rename", "Save", "Delete", RETURN, "Standard"),
        "sv": ("Byt namn", "Spara", "Ta bort", "Vad kostar en retur?", "Standard"),
    }[lang]
    rename, save, remove, question, word = words

    def show_list() -> None:
        if width == 360 and page.locator("#side.open").count() == 0:
            page.locator("#side-open").focus()
            page.keyboard.press("Enter")

    ask(page, question)
    page.keyboard.press("Alt+n")
    page.locator("#log > li").first.wait_for(state="detached")
    ask(page, "Vad kostar Standard?" if lang == "sv" else PLAN)
    wait_for_title(page, word)
    assert len(titles(page)) == 2 or width == 360
    show_list()
    check_accessibility(page)
    choose(page, question, rename)
    page.keyboard.press("Control+a")
    page.keyboard.type("Returns")
    page.get_by_role("button", name=save).focus()
    page.keyboard.press("Enter")
    wait_for_title(page, "Returns")
    page.locator("#thread-list .title", has_text="Returns").focus()
    page.keyboard.press("Enter")
    page.locator("#log .answer", has_text="59 kr").wait_for()
    assert page.locator("#log > li").count() == 2
    show_list()
    page.locator("#thread-query").fill(word)
    page.locator("#thread-found .title", has_text=word).first.wait_for()
    check_accessibility(page)
    page.locator("#thread-found .title", has_text=word).first.focus()
    page.keyboard.press("Enter")
    page.locator("#log .answer", has_text="299 kr").wait_for()
    show_list()
    page.locator("#thread-query").focus()
    page.keyboard.press("Escape")
    choose(page, "Returns", remove)
    check_accessibility(page)
    page.locator("#thread-list .sure").get_by_role("button", name=remove).focus()
    page.keyboard.press("Enter")
    page.locator("#thread-list .title", has_text="Returns").wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#log .answer", has_text="299 kr").count() == 1


def test_a_conversation_that_is_deleted_elsewhere_is_left(address: str, open_page: OpenPage) -> None:
    """The other tab says so, keeps what was typed, and the next question begins another one."""
    one = open_page(address)
    ask(one, RETURN)
    wait_for_title(one, RETURN)
    two = one.context.new_page()
    two.goto(address)
    two.locator("#log .answer").wait_for()
    two.locator("#question").fill("Half a question")
    choose(one, RETURN, "Delete")
    one.locator("#thread-list .sure").get_by_role("button", name="Delete").press("Enter")
    two.locator("#log .note", has_text="was deleted").wait_for()
    assert two.locator("#log .answer").count() == 0
    assert two.locator("#question").input_value() == "Half a question"
    two.locator("#question").fill(PLAN)
    two.locator("#question").press("Enter")
    two.locator("#log .answer.ended", has_text="299 kr").wait_for()
    wait_for_title(one, PLAN)
    assert titles(one) == [PLAN]


def test_a_question_before_the_messages_have_come_is_shown_once(address: str, open_page: OpenPage) -> None:
    """Below what was said before, where the server tells the messages of the thread only after its answer."""
    page = open_page(address)
    ask(page, RETURN)
    wait_for_title(page, RETURN)
    held: list[Callable[[], None]] = []

    def relay(socket: "WebSocketRoute") -> None:
        server = socket.connect_to_server()

        def pass_on(text: str | bytes) -> None:
            if '"thread_messages"' in str(text) and not held:
                held.append(lambda: server.send(text))
            else:
                server.send(text)

        socket.on_message(pass_on)

    page.route_web_socket("**/ws", relay)
    page.reload()
    for _ in range(int(WAIT / 20)):
        if held:
            break
        page.wait_for_timeout(20)
    ask(page, PLAN)
    (send,) = held
    send()
    page.locator("#log .answer", has_text="59 kr").wait_for()
    assert page.locator("#log .mine").all_inner_texts() == [RETURN, PLAN]
    assert page.locator("#log .answer").count() == 2
    page.reload()
    page.locator("#log .answer", has_text="59 kr").wait_for()
    assert page.locator("#log .mine").all_inner_texts() == [RETURN, PLAN]


def test_what_is_typed_is_never_lost(address: str, open_page: OpenPage) -> None:
    """By another conversation, or by a reload."""
    page = open_page(address)
    ask(page, RETURN)
    page.locator("#question").fill("Half a question")
    page.keyboard.press("Alt+n")
    page.locator("#log > li").first.wait_for(state="detached")
    assert page.locator("#question").input_value() == "Half a question"
    page.locator("#question").blur()
    page.reload()
    page.locator("#state[data-state=idle]").wait_for()
    assert page.locator("#question").input_value() == "Half a question"


def test_conversations_outlive_a_restart(tmp_path: Path, open_page: OpenPage) -> None:
    """The page connects again and shows what it showed; after a reload it is the server's word."""
    data = str(tmp_path / "data")
    with serve(tmp_path, *REMEMBERS, data) as (_, port):
        page = open_page(f"http://127.0.0.1:{port}/", expected=LOST)
        ask(page, RETURN)
        wait_for_title(page, RETURN)
    page.locator("#state[data-state=disconnected]").wait_for()
    page.locator("#question").fill("Typed while it is away")
    with serve(tmp_path, *REMEMBERS, data, port=port):
        page.locator("#state[data-state=idle]").wait_for(timeout=40_000)
        assert page.locator("#log .answer", has_text="59 kr").count() == 1
        assert page.locator("#question").input_value() == "Typed while it is away"
        page.reload()
        page.locator("#log .answer", has_text=re.compile("59 kr")).wait_for()
        page.locator("#log .sources").wait_for(state="attached")
        assert titles(page) == [RETURN]
