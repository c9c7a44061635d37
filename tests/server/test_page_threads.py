"""The page's list of conversations, run: its words, its rows, what is typed, and the browser's own secret."""

import json
import re
from dataclasses import fields
from typing import Any

import pytest
import quickjs

from agent.lang import LANGUAGES
from agent.lang.page import ThreadTexts
from agent.protocol.inbound import THREAD_TITLE
from tests.client.test_agent_js import MODULE as CLIENT_MODULE

from .test_page import MODULE, SOURCES, flat, page

SAID = re.compile(
    r"(?:words(?:\(\))?\.threads|\bw(?:\.threads)?)\.([a-z]+)|data-thread(?:-label)?=\"([a-z]+)\""
)
THREAD = {"thread": "t1", "title": "What does it cost?", "at": 1_700_000_000_000, "count": 2}
HARNESS = """
var acts = [];
function row(thread, isOpen) {
  shownRow = threadView(thread, words(), "en", isOpen, (...told) => acts.push(told));
  return shownRow.tree;
}
var shownRow = null;
"""


@pytest.fixture(scope="module")
def rows() -> quickjs.Context:
    """The page with the module of rows."""
    context = page.__wrapped__()  # of its own: each module's names are global there
    context.eval(MODULE.sub("", SOURCES["threads.js"]) + HARNESS)
    return context


def test_every_text_is_used_and_given() -> None:
    """In each language, under the name that the page has for it."""
    said = {found[1] or found[2] for text in SOURCES.values() for found in SAID.finditer(text)}
    assert said == {field.name for field in fields(ThreadTexts)}
    for language in LANGUAGES.values():
        assert all(getattr(language.page.threads, field.name) for field in fields(ThreadTexts))


def test_a_row_says_its_title_and_is_marked_when_it_is_open(rows: quickjs.Context) -> None:
    """One without a title says that."""
    assert "What does it cost?" in flat(
        json.loads(rows.eval(f"JSON.stringify(row({json.dumps(THREAD)}, true))"))
    )
    assert rows.eval("shownRow.children[0].children[0].named['aria-current']") == "true"
    untitled = json.dumps(THREAD | {"title": ""})
    assert "Without a title" in flat(json.loads(rows.eval(f"JSON.stringify(row({untitled}, false))")))
    rows.eval("shownRow.children[0].children[0].happens('click')")
    assert json.loads(rows.eval("JSON.stringify(acts.at(-1).slice(0, 1))")) == ["open"]


def test_the_page_takes_titles_as_long_as_the_server_does() -> None:
    """No shorter and no longer."""
    assert f"MOST_TITLE = {THREAD_TITLE};" in SOURCES["threads.js"]


def test_a_browser_makes_one_secret_and_keeps_it() -> None:
    """Of 256 random bits; one that is kept in another form is made anew; none is shared where nothing can be kept."""

    def made(storage: str) -> Any:
        context = quickjs.Context()
        context.eval(
            "let n = 0; const kept = {};"
            "const crypto = { getRandomValues: (bytes) => bytes.map(() => ++n) };"
            "const btoa = (text) => 'b'.repeat(40) + '+/' + text.length + '==';"
            "String.prototype.replaceAll ??= function (a, b) { return this.split(a).join(b); };"
            f"const localStorage = {storage};"
            + re.sub("^export ", "", CLIENT_MODULE, flags=re.MULTILINE)
            + MODULE.sub("", SOURCES["visitor.js"])
        )
        return json.loads(context.eval("JSON.stringify([visitor(), visitor(), kept.visitor ?? null])"))

    store = "{ getItem: (key) => kept[key] ?? null, setItem: (key, value) => { kept[key] = value; } }"
    secret = "b" * 40 + "-_32"
    assert made(store) == [secret] * 3
    assert made(store.replace("?? null", "?? 'no secret'")) == [secret] * 3
    assert made(store.replace("kept[key] ?? null", f"'{'s' * 30}'")) == ["s" * 30, "s" * 30, None]
    assert made("{ getItem() { throw new Error('denied'); } }") == [secret, secret, None]
