"""Reads the pages of the guide from the package."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

PAGES: Final = (
    "quickstart",
    "concepts",
    "documents",
    "models",
    "structured",
    "tools",
    "http",
    "websocket",
    "memory",
    "stories",
    "voice",
    "running",
    "servers",
    "extending",
    "proof",
)
"""The names of the pages, in the order of reading."""

_BEGINNING = re.compile(r"# (?P<title>[^\n]+)\n\n(?P<sentence>.+?[.:])(?=\s)", re.DOTALL)


@cache
def read_page(name: str) -> str:
    """Return the Markdown of a page. Blocks. Raises `KeyError` for a name that is not in `PAGES`."""
    if name not in PAGES:
        raise KeyError(name)
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def read_title(page: str) -> tuple[str, str]:
    """Return the title and the first sentence of a page's Markdown, the sentence on one line."""
    found = _BEGINNING.match(page)
    assert found is not None, "a page begins with its title and a paragraph"
    return found["title"], " ".join(found["sentence"].split())
