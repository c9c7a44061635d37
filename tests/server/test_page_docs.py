"""The page of routes and frames: its code, run with the descriptions that it shows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import quickjs

from .test_page import MODULE, SOURCES

ROOT = Path(__file__).parents[2]
DOM = """
class Node {
  constructor(tag) { Object.assign(this, { tagName: tag, children: [], heard: {}, named: {}, value: "", text: "" }); }
  set textContent(text) { this.text = text; this.children = []; }
  append(...nodes) { this.children.push(...nodes); }
  setAttribute(name, value) { this.named[name] = value; }
  addEventListener(kind, act) { this.heard[kind] = act; }
  get childElementCount() { return this.children.filter((each) => each instanceof Node).length; }
  get words() { return [this.text, ...this.children.map((each) => each.words ?? String(each))].join(" "); }
  all(tag) {
    return [...(this.tagName === tag ? [this] : []), ...this.children.flatMap((each) => each.all?.(tag) ?? [])];
  }
}
const token = new Node("input");
globalThis.document = {
  createElement: (tag) => new Node(tag),
  getElementById: (id) => (id === "token" ? token : null),
};
class URLSearchParams {
  constructor() { this.all = []; }
  append(name, value) { this.all.push(`${name}=${encodeURIComponent(value)}`); }
  get size() { return this.all.length; }
  toString() { return this.all.join("&"); }
}
"""


@pytest.fixture
def page() -> quickjs.Context:
    """The code of the page, with both descriptions."""
    context = quickjs.Context()
    context.eval(DOM + MODULE.sub("", SOURCES["docs.js"]))
    for name in ("openapi", "asyncapi"):
        text = (ROOT / "diagrams" / f"{name}.json").read_text("utf-8")
        context.eval(f"const {name} = {json.dumps(json.loads(text))};")
    return context


def run(page: quickjs.Context, code: str) -> Any:
    return json.loads(page.eval(f"JSON.stringify((() => {{ {code} }})())"))


def test_every_route_opens_with_its_fields_and_a_form(page: quickjs.Context) -> None:
    """Whatever a route describes has words; none is `undefined`."""
    shown = run(
        page,
        """const shown = [];
           for (const [path, item] of Object.entries(openapi.paths)) {
             for (const [method, operation] of Object.entries(item)) {
               const made = routeDetails(openapi, method.toUpperCase(), path, operation);
               made.heard.toggle();
               made.heard.toggle();
               const bodies = made.all("textarea").map((each) => each.value);
               shown.push([`${method} ${path}`, made.words, made.all("form").length, bodies]);
             }
           }
           return shown;""",
    )
    assert len(shown) > 40
    for name, words, forms, bodies in shown:
        assert not re.search(r"undefined|\[object|NaN", words), name
        assert forms == ("multipart" not in words), name
        for body in bodies:
            json.loads(body)
    told = {name: words for name, words, _, _ in shown}
    assert "Send a message to a thread" in told["post /chat"]
    assert "For a project's key, or the operator." in told["post /chat"]
    assert "turn_in_progress" in told["post /chat"]


def test_every_frame_has_its_fields(page: quickjs.Context) -> None:
    """Also those that refer to other parts of the description."""
    shown = run(
        page,
        """return Object.values(asyncapi.operations).flatMap((each) => each.messages).map((each) => {
             const message = follow(asyncapi, each);
             return frameDetails(asyncapi, message.name, message).words;
           });""",
    )
    assert len(shown) > 20
    assert not any(re.search(r"undefined|\[object|NaN", words) for words in shown)
    assert any("suggestionId" in words for words in shown)


@pytest.mark.parametrize(
    ("path", "values", "address"),
    [
        ("/calls/{id}", {"id": "a b/c?"}, "/calls/a%20b/c%3F"),
        ("/calls", {"limit": "5", "cursor": ""}, "/calls?limit=5"),
        ("/calls/{id}", {"id": "x", "limit": "&"}, "/calls/x?limit=%26"),
    ],
)
def test_what_is_typed_stays_in_its_place(
    page: quickjs.Context, path: str, values: dict[str, str], address: str
) -> None:
    """A value of the path or of the query cannot become another part of the address."""
    parameters = [{"name": name, "in": "path" if f"{{{name}}}" in path else "query"} for name in values]
    given = ", ".join(map(json.dumps, (path, parameters, values)))
    assert run(page, f"return addressOf({given})") == address
