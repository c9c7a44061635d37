"""Fixtures: one browser and one server for all modules, and pages whose faults fail the test."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from . import WAIT, WIDTHS, PageFaults, launch, serve_read

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="package")
def chromium() -> Iterator["Browser"]:
    """Chromium, without any page. Each page is of a context of its own, which shares nothing with another."""
    with launch() as browser:
        yield browser


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of the documents in `kb/`, for tests that change nothing of it.

    Each page is another visitor to it. A module whose tests need a server of their own has a fixture of this name.
    """
    with serve_read(tmp_path_factory.mktemp("kb"), "--pace-ms", "0", "--data", "memory") as found:
        yield found


@pytest.fixture
def open_page(chromium: "Browser") -> Iterator[OpenPage]:
    """A function that opens an address as a new user, with nothing stored.

    Arguments: the address; `width`, one of `WIDTHS`; `scheme`, "light" or "dark"; `lang`; `expected`, as of
    `PageFaults`; and others of Playwright's `new_context`. A further tab of the same user is `page.context.new_page()`,
    which is watched too.
    """
    watched: list[PageFaults] = []

    def open_address(
        url: str,
        *,
        width: int = 1280,
        scheme: Any = "light",
        lang: str = "en",
        expected: str = r"(?!)",
        **options: Any,
    ) -> "Page":
        size: Any = {"width": width, "height": WIDTHS.get(width, 800)}
        context = chromium.new_context(viewport=size, color_scheme=scheme, locale=lang, **options)
        context.set_default_timeout(WAIT)
        context.on("page", lambda page: watched.append(PageFaults(page, expected)))
        page = context.new_page()
        page.goto(url)
        return page

    yield open_address
    for context in chromium.contexts:
        context.close()
    assert [fault for each in watched for fault in each.found] == []
