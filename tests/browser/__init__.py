"""The pages in Chromium, driven by Playwright: what a page shows, and what no page may do.

A test opens a page with the fixture `open_page` (see `conftest.py`). Whatever a page writes to its console as an error,
throws, or asks of another host fails the test when it ends; `check_accessibility` fails it for what axe finds.
Playwright comes with the extra `proof`, and Chromium with Debian; without them the tests are skipped with that reason.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from ..e2e.test_process import serve

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

CHROMIUM = shutil.which("chromium")
WAIT = 20_000.0  # milliseconds until an expectation fails; a machine that is busy with other things is slow
READY = 90.0  # seconds until a server has read its documents
WIDTHS = {360: 740, 1280: 800}  # pixels: of a phone and of a desk
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
]
_OURS = re.compile(r"(?:https?|wss?)://(?:127\.0\.0\.1|localhost)[:/]|data:|blob:|about:")


@contextmanager
def launch() -> Iterator["Browser"]:
    """Start Chromium for the time of a block; skip the test where it or Playwright is missing."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def serve_read(folder: Path, *arguments: str, module: str = "agent") -> Iterator[str]:
    """Start a server of the documents in `kb/`; yield its address once it has read them."""
    with serve(folder, *arguments, module=module) as (_, port):
        address = f"http://127.0.0.1:{port}/"
        until = monotonic() + READY
        while httpx.get(f"{address}readyz").status_code != 200:
            assert monotonic() < until, "the server does not become ready"
            sleep(0.05)
        yield address


class PageFaults:
    """What a page did that no page may: errors, and requests to another host.

    `expected`: pattern of console errors that the test brings about itself, such as a lost connection.
    """

    def __init__(self, page: "Page", expected: str = r"(?!)") -> None:
        self.found: list[str] = []
        self._expected = re.compile(expected)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.found.append(f"thrown: {error}"))
        page.on("request", self._note_request)

    def _note_console(self, message: "ConsoleMessage") -> None:
        if message.type == "error" and not self._expected.search(
            f"{message.text} {message.location.get('url')}"
        ):
            self.found.append(f"console: {message.text} ({message.location.get('url')})")

    def _note_request(self, request: "Request") -> None:
        if not _OURS.match(request.url):
            self.found.append(f"asked another host: {request.url}")


def check_accessibility(page: "Page") -> None:
    """Fail for what axe finds in the page as it is now, with the rule and the elements."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found: list[dict[str, Any]] = axe.run(page).response["violations"]
    told = [f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes']]}" for each in found]
    assert told == []


def ask(page: "Page", question: str) -> None:
    """Type a question into the chat page and send it once it is connected; wait until its answer has ended."""
    ended = page.locator("#log > li.answer.ended")
    count = ended.count()
    page.locator("#question").fill(question)
    page.locator("#send:enabled").wait_for()
    page.locator("#question").press("Enter")
    ended.nth(count).wait_for()
