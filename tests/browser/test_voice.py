"""Talking and listening on the chat page, with the microphone and the loudspeaker of a browser that has neither."""

import json
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from . import WAIT, ask, check_accessibility, serve_read
from .conftest import OpenPage
from .fake_ear import PARTIAL, QUESTION

pytestmark = pytest.mark.proof


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that hears a question in every sound, and says its answers in beeps."""
    arguments = ("--mouth", "tone", "--ear", "pocketsphinx", "--data", "memory")
    with serve_read(tmp_path_factory.mktemp("voice"), *arguments, module="tests.browser.fake_ear") as found:
        yield found


def watch_frames(page: Any) -> list[dict[str, Any]]:
    """Return a list that gets the text frames of the page's later connections, both ways."""
    frames: list[dict[str, Any]] = []

    def note(payload: str | bytes) -> None:
        if isinstance(payload, str):
            frames.append(json.loads(payload))

    def follow(socket: Any) -> None:
        socket.on("framesent", note)
        socket.on("framereceived", note)

    page.on("websocket", follow)
    return frames


def wait_for_frame(page: Any, frames: list[dict[str, Any]], kind: str, **fields: Any) -> dict[str, Any]:
    """Return the first frame of a type that has these fields, once there is one."""
    until = monotonic() + WAIT / 1000
    while monotonic() < until:
        for frame in frames:
            if frame["type"] == kind and fields.items() <= frame.items():
                return frame
        page.wait_for_timeout(20)
    raise AssertionError(f"no {kind} {fields} came: {frames[-5:]}")


def test_a_question_is_talked_and_its_answer_listened_to(address: str, open_page: OpenPage) -> None:
    """The words show while they are heard, then as a message, and its answer is played; axe finds nothing."""
    page = open_page(address, width=360, permissions=["microphone"])
    frames = watch_frames(page)
    page.locator("#state[data-state=idle]").wait_for()
    check_accessibility(page)
    box = page.locator("#question").bounding_box()
    assert box is not None
    assert box["width"] >= 230
    page.locator("#listen").click()
    page.locator("#talk").click()
    page.locator("#heard", has_text=PARTIAL).wait_for()
    check_accessibility(page)
    page.locator("#talk").click()
    page.locator("#log .mine", has_text=QUESTION).wait_for()
    page.locator("#log .answer", has_text="59 kr").wait_for()
    page.wait_for_function("document.querySelector('#heard').textContent === ''")
    said = wait_for_frame(page, frames, "speech")
    wait_for_frame(page, frames, "played", seq=said["seq"])
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_escape_silences_an_answer(address: str, open_page: OpenPage) -> None:
    """Its text stays."""
    page = open_page(address)
    frames = watch_frames(page)
    page.locator("#state[data-state=idle]").wait_for()
    page.locator("#listen").click()
    wait_for_frame(page, frames, "welcome")
    page.locator("#state[data-state=idle]").wait_for()
    ask(page, QUESTION)
    wait_for_frame(page, frames, "speech")
    page.keyboard.press("Escape")
    wait_for_frame(page, frames, "speech_end", reason="cancelled")
    assert "59 kr" in page.locator("#log .answer").inner_text()


def test_a_page_that_is_refused_the_microphone_says_so(address: str, open_page: OpenPage) -> None:
    """And works as before."""
    page = open_page(address, lang="sv")
    page.add_init_script(
        "navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotAllowedError') }"
    )
    page.reload()
    page.locator("#state[data-state=idle]").wait_for()
    page.locator("#talk").click()
    page.locator("#told", has_text="mikrofonen").wait_for()
    assert page.locator("#talk").get_attribute("aria-pressed") == "false"
    ask(page, "Vad kostar en retur?")
    assert "59 kr" in page.locator("#log .answer").inner_text()
