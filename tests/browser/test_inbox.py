"""The approvers' page in a browser: the four decisions, two approvers, a revoked key, the history, hostile texts."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from ..e2e.test_process import serve
from . import WAIT, check_accessibility
from .conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.proof

TOKEN = "a-token-of-24-characters"
MARKUP = "<img src=x onerror=alert(1)><b>bold</b>"
TOOL: dict[str, Any] = {
    "name": "ship_order",
    "description": "Ship an order",
    "parameters": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "description": "The id of the order."},
            "count": {"type": "integer"},
            "express": {"type": "boolean"},
            "colour": {"enum": ["red", "green"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "address": {"type": "object"},
        },
        "required": ["order_id"],
        "additionalProperties": False,
    },
    "risk": "high",
    "runs_at": "record",
}
UNAUTHORISED = r"status of 40[19]|/calls/"
DEAF = """
const { read } = ReadableStreamDefaultReader.prototype;
ReadableStreamDefaultReader.prototype.read = async function () {
  const got = await read.call(this);
  return window.deaf ? new Promise(() => {}) : got;
};
"""
"""Lets a page hear nothing more of its stream once `window.deaf` is set, also nothing of what is on its way."""


class Api:
    """A client of a server's HTTP API, with a project of its own."""

    def __init__(self, address: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=30, limits=httpx.Limits(max_connections=40))
        operator = {"X-AGENT-KEY": TOKEN}
        made = self.http.post(
            "/projects", json={"name": "Shop", "roleStatement": "You help."}, headers=operator
        )
        self.project = made.json()["id"]
        created = self.http.post(
            f"/projects/{self.project}/keys", json={"name": "desk"}, headers=operator
        ).json()
        self.key, self.key_id, self.operator = created["key"], created["id"], operator

    def suggest(self, order: str = "A-17", user: str = "ada", said: str = "") -> Any:
        """Have a call suggested; return it."""
        message = {"user_id": user, "message": f"Please ship order {order} {said}"}
        told = self.http.post("/chat", json=message, headers={"X-AGENT-KEY": self.key}).json()
        assert told["tool_call"] is not None, told
        return told["tool_call"]

    def ask(self, user: str) -> None:
        """Ask a question as a user."""
        message = {"user_id": user, "message": "What does a return cost?"}
        assert self.http.post("/chat", json=message, headers={"X-AGENT-KEY": self.key}).status_code == 200

    def decide(self, call: Any, way: str, **said: Any) -> httpx.Response:
        """Decide about a call, as another approver."""
        body = {"user_id": call.get("user_id", "ada"), "approver": "Ivo", **said}
        return self.http.post(f"/calls/{call['id']}/{way}", json=body, headers={"X-AGENT-KEY": self.key})

    def call(self, call: Any) -> Any:
        """Return a call as it is now."""
        return self.http.get(f"/calls/{call['id']}", headers={"X-AGENT-KEY": self.key}).json()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a token."""
    folder = tmp_path_factory.mktemp("inbox")
    (folder / "tools.json").write_text(json.dumps({"tools": [TOOL]}), encoding="utf-8")
    tools = ("--tools", "tools.json")
    with serve(folder, *tools, "--pace-ms", "0", "--token", TOKEN, "--api-rate", "0", "--data", "memory") as (
        _,
        port,
    ):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def api(address: str) -> Iterator[Api]:
    """A project of the test's own."""
    made = Api(address)
    yield made
    made.http.close()


def enter(open_page: OpenPage, address: str, key: str, name: str = "Eva", **options: Any) -> "Page":
    """Open the page as an approver with a key."""
    page = open_page(f"{address}/inbox", **{"expected": UNAUTHORISED, **options})
    page.locator("#token").fill(key)
    page.locator("#unlock button").click()
    page.locator("#state[data-state=idle]").wait_for()
    page.evaluate(f"localStorage.setItem('inbox-approver', {json.dumps(name)})")
    return page


def until(page: "Page", condition: str) -> None:
    """Wait until an expression of the page is true. Playwright's own wait needs `eval`, which the page forbids."""
    last = time.monotonic() + WAIT / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < last, condition
        page.wait_for_timeout(50)


def choose(page: "Page", call: Any) -> None:
    """Open a call of the list."""
    page.locator(f"#lists [data-id='{call['id']}']").click()
    page.locator("#detail h2", has_text=call["tool"]).wait_for()


@pytest.mark.parametrize(("width", "scheme", "lang"), [(360, "dark", "sv"), (1280, "light", "en")])
def test_a_call_comes_and_is_accepted(
    address: str, api: Api, open_page: OpenPage, width: int, scheme: str, lang: str
) -> None:
    """Live, with all that its approver needs; axe finds nothing in any view, and no line is too wide."""
    page = open_page(f"{address}/inbox", width=width, scheme=scheme, lang=lang, expected=UNAUTHORISED)
    page.locator("#locked[open]").wait_for()
    check_accessibility(page)
    page.locator("#token").fill(api.key)
    page.locator("#unlock button").click()
    page.locator("#state[data-state=idle]").wait_for()
    check_accessibility(page)
    call = api.suggest(said=MARKUP)
    page.locator(f"#list [data-id='{call['id']}']").wait_for()  # a silent stream begins anew after 40 s
    until(page, "document.title.startsWith('(1)')")
    choose(page, call)
    told = page.locator("#detail").inner_text()
    assert MARKUP in told
    assert "A-17" in told
    assert ("high risk" if lang == "en" else "hög risk") in told
    assert ("the user's message" if lang == "en" else "användarens meddelande") in told
    check_accessibility(page)
    page.locator("#detail [data-mode=accept]").click()
    page.locator("#settings[open]").wait_for()  # who decides?
    check_accessibility(page)
    page.locator("#name").fill("Eva")
    page.locator("#settings-save").click()
    page.locator("#detail [data-mode=accept]").click()
    page.locator("#detail .status[data-status=done]").wait_for()
    assert "Eva" in page.locator("#detail .status").inner_text()
    page.locator("#detail pre").last.wait_for()
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#open-history").click()
    page.locator("#history-rows tr").wait_for()
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert api.call(call)["status"] == "done"


def test_arguments_are_edited_in_a_form_of_their_schema(address: str, api: Api, open_page: OpenPage) -> None:
    """Each kind of field; the page and the server say which field does not fit, and nothing typed is lost."""
    page, call = enter(open_page, address, api.key), api.suggest()
    choose(page, call)
    page.locator("#detail [data-mode=edit]").click()
    form = page.locator("[data-panel=edit]")
    assert form.locator("select").count() == 2
    form.get_by_label("count").fill("many")
    form.locator("[type=submit]").click()
    form.locator(".fault", has_text="whole number").wait_for()
    form.get_by_label("count").fill("12345678901234567890")
    form.get_by_label("express").select_option("true")
    form.get_by_label("colour").select_option('"green"')
    form.get_by_label("tags").fill("one\ntwo")
    form.get_by_label("address").fill('{"city": "Umeå"}')
    form.get_by_label("order_id").fill(MARKUP)
    check_accessibility(page)
    form.locator("[type=submit]").click()
    page.locator("#detail .status[data-status=done]").wait_for()
    kept = api.call(call)
    assert kept["edited"]
    assert kept["arguments"] == {
        "order_id": MARKUP,
        "count": 12345678901234567890,
        "express": True,
        "colour": "green",
        "tags": ["one", "two"],
        "address": {"city": "Umeå"},
    }
    assert "12345678901234567890" in page.locator("#detail .arguments").inner_text()


def test_a_bad_edit_is_shown_at_its_field(address: str, api: Api, open_page: OpenPage) -> None:
    """By the server's word, with the text kept; then the call is rejected with a reason, and its answer in words."""
    page, call = enter(open_page, address, api.key), api.suggest()
    choose(page, call)
    page.keyboard.press("e")
    form = page.locator("[data-panel=edit]")
    form.get_by_label("address").fill("[1]")
    form.locator("[type=submit]").click()
    form.locator(".field", has_text="address").locator(".fault:not(:empty)").wait_for()
    assert form.get_by_label("address").input_value() == "[1]"
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.locator("#reject-reason").fill("Not today.")
    page.locator("[data-panel=reject] [type=submit]").click()
    page.locator("#detail .status[data-status=rejected]").wait_for()
    kept = api.call(call)
    assert (kept["status"], kept["reason"], kept["closed_by"]) == ("rejected", "Not today.", "ada")
    other = api.suggest("B-18")
    page.locator(f"#list [data-id='{other['id']}']").wait_for()
    choose(page, other)
    page.keyboard.press("w")
    page.locator("#answer-words").fill("Which address?")
    page.locator("[data-panel=answer] [type=submit]").click()
    page.locator("#detail .status[data-status=answered]").wait_for()
    assert api.call(other)["status"] == "answered"


def test_a_call_that_another_decides_while_it_is_edited_keeps_what_was_typed(
    address: str, api: Api, open_page: OpenPage
) -> None:
    """It says who was first; nothing more can be sent, and the text can be copied."""
    page, call = enter(open_page, address, api.key), api.suggest()
    choose(page, call)
    page.locator("#detail [data-mode=reject]").click()
    page.locator("#reject-reason").fill("I had a long reason.")
    assert api.decide(call, "approve").status_code == 200
    page.locator("#detail .told", has_text="Ivo was first").wait_for()
    assert page.locator("#reject-reason").input_value() == "I had a long reason."
    assert page.locator("[data-panel=reject] [type=submit]").is_disabled()
    page.locator("#detail .copy").wait_for()
    check_accessibility(page)
    assert api.call(call)["status"] == "done"


def test_two_pages_see_who_was_first(address: str, api: Api, open_page: OpenPage) -> None:
    """The second decision is refused, also where its page had not heard of the first one yet."""
    call = api.suggest()
    one, two = (enter(open_page, address, api.key, name) for name in ("Eva", "Ivo"))
    for page in (one, two):
        choose(page, call)
    two.add_init_script(DEAF)
    two.reload()
    choose(two, call)
    two.evaluate("window.deaf = true")
    one.locator("#detail [data-mode=accept]").click()
    two.locator("#detail [data-mode=accept]").click()
    for page in (one, two):
        page.locator("#detail :is(.status[data-status=done], .told:not(:empty))").first.wait_for()
    history = api.http.get("/calls/history", headers={"X-AGENT-KEY": api.key}).json()["items"]
    assert len(history) == 1
    first = history[0]["approver"]
    loser = two if first == "Eva" else one
    loser.locator("#detail .told", has_text=f"{first} was first").wait_for()


def test_a_key_that_is_revoked_locks_the_page(address: str, api: Api, open_page: OpenPage) -> None:
    """With what was typed still there once another key opens it."""
    page, call = enter(open_page, address, api.key), api.suggest()
    choose(page, call)
    page.locator("#detail [data-mode=reject]").click()
    page.locator("#reject-reason").fill("Kept.")
    api.http.delete(f"/projects/{api.project}/keys/{api.key_id}", headers=api.operator)
    page.locator("#locked[open]").wait_for()
    assert "does not open" in page.locator("#locked-why").inner_text()
    other = api.http.post(f"/projects/{api.project}/keys", json={"name": "2"}, headers=api.operator).json()
    page.locator("#token").fill(other["key"])
    page.locator("#unlock button").click()
    page.locator("#state[data-state=idle]").wait_for()
    assert page.locator("#reject-reason").input_value() == "Kept."
    page.locator("[data-panel=reject] [type=submit]").click()
    page.locator("#detail .status[data-status=rejected]").wait_for()


def test_filters_keys_history_and_exports(address: str, api: Api, open_page: OpenPage) -> None:
    """By the keyboard alone; files have what the table has."""
    calls = [api.suggest(f"A-{number}", user) for number, user in enumerate(("ada", "ada", "bo"), 10)]
    page = enter(open_page, address, api.key)
    page.locator("#list li").nth(2).wait_for()
    page.locator("#by-user").fill("bo")
    until(page, "document.querySelectorAll('#list li').length === 1")
    assert "1 of 3" in page.locator("#count").inner_text()
    page.locator("#by-user").fill("")
    until(page, "document.querySelectorAll('#list li').length === 3")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("#detail h2:focus").wait_for()
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.locator("#detail .status[data-status=done]").wait_for()
    page.locator("#lately-box").wait_for()
    assert sum(api.call(each)["status"] == "done" for each in calls) == 1
    page.locator("#open-history").click()
    page.locator("#history-rows tr").wait_for()
    assert "Eva" in page.locator("#history-rows").inner_text()
    page.locator("#history-approver").fill("Nobody")
    page.keyboard.press("Enter")
    page.locator("#history-told", has_text="No decision").wait_for()
    page.locator("#history-approver").fill("")
    for form in ("csv", "jsonl"):
        with page.expect_download() as saved:
            page.locator(f"#export-{form}").click()
        assert saved.value.suggested_filename == f"decisions.{form}"
        assert "Eva" in saved.value.path().read_text()


def test_an_outcome_that_overtakes_the_answer_of_its_approval_stays(
    address: str, api: Api, open_page: OpenPage
) -> None:
    """The live list may say "done" before the approval's own answer comes, which says "confirmed"."""
    api.suggest("A-70", "ada")
    page = enter(open_page, address, api.key)

    def answer_late(route: "Route") -> None:
        response = route.fetch()
        time.sleep(1)  # the page hears the outcome meanwhile
        route.fulfill(response=response)

    page.route("**/approve", answer_late)
    page.locator("#list li").first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("#detail h2:focus").wait_for()
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.locator("#detail article > button.main").wait_for()  # the answer has come
    page.locator("#detail .status[data-status=done]").wait_for()  # nothing more comes that would mend another


def test_200_calls_are_worked_through_within_60_mb(address: str, api: Api, open_page: OpenPage) -> None:
    """By three keys a call, while 20 users chat; all are decided, and the page is small at its largest."""
    with ThreadPoolExecutor(10) as pool:
        calls = [
            *pool.map(
                api.suggest, [f"A-{number}" for number in range(100, 300)], [f"u{n % 50}" for n in range(200)]
            )
        ]
    page = enter(open_page, address, api.key)
    until(page, "document.title.startsWith('(200)')")
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    largest = 0.0
    over = threading.Event()

    def chat(number: int) -> None:
        while not over.wait(2):
            api.ask(f"chatting-{number}")

    with ThreadPoolExecutor(20) as pool:
        chatting = [pool.submit(chat, number) for number in range(20)]
        try:
            page.locator("#list button").first.click()
            for left in range(199, -1, -1):
                page.keyboard.press("a")
                page.keyboard.press("Enter")
                page.locator("#detail .main:focus").wait_for()
                page.keyboard.press("Enter")
                if left % 20 == 0:
                    told = metrics.send("Performance.getMetrics")["metrics"]
                    largest = max(
                        largest, *(each["value"] for each in told if each["name"] == "JSHeapUsedSize")
                    )
        finally:
            over.set()
        for each in chatting:
            each.result()
    until(page, "document.querySelectorAll('#list li').length === 0")
    assert {api.call(each)["status"] for each in calls} == {"done"}
    sys.stdout.write(f"\nthe page's scripts held {largest / 1e6:.1f} MB at most\n")
    assert largest < 60e6


def test_the_page_asks_for_three_files(address: str, api: Api, open_page: OpenPage) -> None:
    """Itself, one style and one script, together under 100 KB."""
    page = enter(open_page, address, api.key)
    sizes: dict[str, int] = page.evaluate(
        "Object.fromEntries(performance.getEntriesByType('resource').map("
        "(each) => [new URL(each.name).pathname, each.decodedBodySize]))"
    )
    files = {name: size for name, size in sizes.items() if name.startswith("/static/") and "icon" not in name}
    assert sorted(files) == ["/static/inbox.css", "/static/inbox.js"]
    assert sum(files.values()) < 100_000
