"""The page of routes and frames in a browser."""

import json
from pathlib import Path

import pytest

from . import check_accessibility
from .conftest import OpenPage

pytestmark = pytest.mark.proof
DIAGRAMS = Path(__file__).parents[2] / "diagrams"


def test_it_shows_each_route_and_frame(address: str, open_page: OpenPage) -> None:
    """Under the server's own rules of content, with one entry for each that is described, and no trouble."""
    routes = json.loads((DIAGRAMS / "openapi.json").read_text("utf-8"))["paths"]
    frames = json.loads((DIAGRAMS / "asyncapi.json").read_text("utf-8"))["operations"]
    count = sum(map(len, routes.values())) + sum(len(each["messages"]) for each in frames.values())
    page = open_page(f"{address}docs")
    page.locator("summary").nth(count - 1).wait_for(state="attached")
    assert page.locator("summary").count() == count
    assert page.locator("#trouble").inner_text() == ""
    check_accessibility(page)
