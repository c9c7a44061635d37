"""The page's panel of what is remembered, run: what it shows, what it sends, and whose thread it goes on in."""

import json
import re
from dataclasses import fields, replace
from itertools import product
from typing import Any, get_args

import pytest
import quickjs

from agent.config import ITEM_TEXT
from agent.lang import LANGUAGES
from agent.lang.page import Decisions, MemoryTexts, Statuses, Types
from agent.memory.states import allowed_decisions
from agent.ports.conversation import Scope
from agent.ports.memory import ItemDecision, ItemStatus, ItemType
from agent.protocol.codec import decode
from agent.protocol.inbound import MemoryDecide, MemoryEdit, MemoryForget, MemoryList, OpenThread
from agent.testing.fake_memory import make_item

from .test_page import MODULE, SOURCES, flat, js, page

SAID = re.compile(r"words(?:\(\))?\.memory\.([a-z]+)|data-memory=\"([a-z]+)\"")
DAY = 24 * 3600 * 1000
ITEM = {
    "id": "i1",
    "type": "fact",
    "status": "accepted",
    "text": "The budget is 50 000 kr.",
    "revision": 3,
    "createdAt": 20_000 * DAY,
    "validFrom": 20_000 * DAY,
    "sources": [{"kind": "message", "ref": "m1", "quote": "my budget is 50 000 kr"}],
    "decisions": [],
}
PROPOSED = ITEM | {
    "id": "i2",
    "status": "proposed",
    "text": "The budget is 60 000 kr.",
    "replaces": [{"item": "i1", "text": "The budget is 50 000 kr."}],
    "decisions": ["accept", "reject"],
}
HARNESS = """
function view(item) {
  sent = [];
  shownItem = itemView(item, words(), (frame, item, done) => { sent.push(frame); answers.push(done); });
  return shownItem.tree;
}
function every(node, found = []) {
  found.push(node);
  node.children.forEach((each) => each.tree && each.children && each instanceof Node && every(each, found));
  return found;
}
function press(node, word) {
  const found = every(node).filter((each) => each.tagName === "BUTTON" && each.own === word);
  if (found.length !== 1) throw new Error(`${found.length} buttons say ${word}`);
  found[0].happens("click");
}
function fill(node, text) {
  const form = every(node).find((each) => each.tagName === "FORM");
  every(form).find((each) => each.tagName === "TEXTAREA").value = text;
  form.happens("submit");
}
var sent = [], answers = [], shownItem = null;
function store() {
  const kept = {};
  return { kept, getItem: (key) => kept[key] ?? null, setItem: (key, value) => { kept[key] = value; } };
}
var sessionStorage = store(), localStorage = store();
"""


@pytest.fixture(scope="module")
def panel() -> quickjs.Context:
    """The page with a panel of its own for each call of `fresh`."""
    context = page()
    source = MODULE.sub("", SOURCES["memory.js"])
    context.eval(HARNESS)
    context.eval(
        "var memory = null; function fresh() {"
        " for (const id of Object.keys(byIds)) if (id.startsWith('memory')) delete byIds[id];"
        " document.getElementById('memory-open').hidden = true;"
        " sessionStorage = store(); localStorage = store(); sent = []; focused = null;"
        f" memory = (() => {{ {source}\n"
        " return { begin, refresh, keepThread, memoryFrames, memoryFailed, memoryLost }; })(); return 0; }"
    )
    js("fresh")
    return context


def said(call: str) -> Any:
    """Return what an expression of the page comes to."""
    found = page().eval(f"JSON.stringify({call})")
    return None if found is None else json.loads(found)


def view(item: dict[str, Any]) -> str:
    """Return what an item looks like, as one line."""
    return " ".join(flat(js("view", item)))


def told(frame: dict[str, Any]) -> None:
    """Let the server say something."""
    what = json.dumps(frame)
    page().eval(f"memory.memoryFrames[{json.dumps(frame['type'])}]({what})")


def sent() -> list[dict[str, Any]]:
    """Return what the page has sent since the last call."""
    found: list[dict[str, Any]] = said("sent.splice(0)")
    for frame in found:
        decode(json.dumps(frame))
    return found


def test_everything_the_panel_says_has_its_words() -> None:
    """In every language, and for every type and status there is."""
    used = {found[1] or found[2] for source in SOURCES.values() for found in SAID.finditer(source)}
    names = {field.name for field in fields(MemoryTexts)}
    assert used <= names
    by_kind = {"document", "tool"}  # named by what comes over the wire
    assert names - used == by_kind
    assert {field.name for field in fields(Types)} == set(get_args(ItemType))
    assert {field.name for field in fields(Statuses)} == set(get_args(ItemStatus))
    assert {field.name for field in fields(Decisions)} == set(get_args(ItemDecision))
    assert len(LANGUAGES) >= 2


def test_an_item_shows_its_source_and_until_when_it_counts(panel: quickjs.Context) -> None:
    """In words; what it comes from is there to be unfolded."""
    shown = view(ITEM)
    assert "P The budget is 50 000 kr." in shown
    assert "P Fact · since 2024-10-04" in shown
    assert "DETAILS SUMMARY Sources UL LI You said: my budget is 50 000 kr" in shown
    loop = ITEM | {
        "type": "open_loop",
        "status": "blocked",
        "validTo": 20_009 * DAY,
        "expiresAt": 20_007 * DAY,
        "sources": [{"kind": "document", "ref": "kb/a.md", "lines": [3, 4], "quote": "x"}],
    }
    assert "P To do · Blocked · since 2024-10-04 · until 2024-10-11" in view(loop)
    assert "LI Document kb/a.md, lines 3–4: x" in view(loop)
    text = ITEM | {"text": "<img src=x>"}
    assert "P <img src=x>" in view(text)


def test_what_contradicts_stands_beside_what_it_contradicts(panel: quickjs.Context) -> None:
    """With both texts; to accept says which was seen to be replaced."""
    shown = view(PROPOSED)
    assert (
        "H4 Remembered now P The budget is 50 000 kr. DIV H4 In its place P The budget is 60 000 kr." in shown
    )
    page().eval("press(shownItem, 'Remember')")
    (frame,) = said("sent")
    assert decode(json.dumps(frame)) == MemoryDecide("i2", "accept", 3, ["i1"])
    view(PROPOSED)
    page().eval("press(shownItem, 'Decline')")
    assert decode(json.dumps(said("sent[0]"))) == MemoryDecide("i2", "reject", 3)
    view(PROPOSED | {"replaces": []})
    page().eval("press(shownItem, 'Remember')")
    assert decode(json.dumps(said("sent[0]"))) == MemoryDecide("i2", "accept", 3, [])


def test_what_can_be_done_is_what_its_status_takes(panel: quickjs.Context) -> None:
    """Each decision that the server says, whatever the type is; a text that counts can be corrected, all forgotten."""
    for changed, expected in (
        ({}, ["Correct", "Forget"]),
        ({"status": "active", "decisions": ["done", "block"]}, ["Done", "Block", "Correct", "Forget"]),
        (PROPOSED, ["Remember", "Decline", "Correct", "Forget"]),
        ({"status": "rejected", "decisions": ["reopen"]}, ["Propose again", "Forget"]),
        ({"status": "superseded"}, ["Forget"]),
    ):
        js("view", ITEM | changed)
        buttons = said("every(shownItem).filter((each) => each.tagName === 'BUTTON').map((each) => each.own)")
        assert buttons == expected
    decide = LANGUAGES["en"].page.memory.decide
    for decision in get_args(ItemDecision):
        view(ITEM | {"decisions": [decision]})
        page().eval(f"press(shownItem, {json.dumps(getattr(decide, decision))})")
        sent = decode(json.dumps(said("sent[0]")))
        assert sent == MemoryDecide("i1", decision, 3, [] if decision == "accept" else None)


def test_what_is_offered_is_what_the_items_table_takes(panel: quickjs.Context) -> None:
    """Of an item of every type in every status: each button that there is leads somewhere."""
    decide = LANGUAGES["en"].page.memory.decide
    seen: set[str] = set()
    for type, status in product(get_args(ItemType), get_args(ItemStatus)):
        item = replace(make_item(Scope()), type=type, status=status)
        may = allowed_decisions(item, 0)
        js("view", ITEM | {"type": type, "status": status, "decisions": may})
        buttons = said("every(shownItem).filter((each) => each.tagName === 'BUTTON').map((each) => each.own)")
        assert buttons[: len(may)] == [getattr(decide, each) for each in may]
        seen.update(may)
    assert seen == set(get_args(ItemDecision))
    assert allowed_decisions(replace(make_item(Scope()), type="open_loop", status="active"), 0) == (
        "done",
        "block",
    )
    assert allowed_decisions(replace(make_item(Scope()), type="decision"), 0) == ("start",)
    assert allowed_decisions(replace(make_item(Scope()), status="forgotten"), 0) == ()


def test_each_button_says_what_it_is_about(panel: quickjs.Context) -> None:
    """A screen reader hears the word that is seen, and the item's text; a keyboard reaches every one."""
    view(PROPOSED)
    labels = said(
        "every(shownItem).filter((each) => each.tagName === 'BUTTON')"
        ".map((each) => [each.own, each.named?.['aria-label'], each.type])"
    )
    assert len(labels) == 4
    assert all(label == f"{own}: {PROPOSED['text']}" for own, label, _ in labels)
    assert {kind for *_, kind in labels} == {"button"}
    assert said("shownItem.tabIndex") == -1


def test_forgetting_is_asked_once_more(panel: quickjs.Context) -> None:
    """What is asked is an alert, what changes nothing has the focus, and it can be left."""
    view(ITEM)
    page().eval("press(shownItem, 'Forget')")
    assert said("sent") == []
    assert said("focused.own") == "Leave it"
    asked = said("every(shownItem).filter((each) => each.named?.role === 'alert').map((each) => each.own)")
    assert asked == [LANGUAGES["en"].page.memory.sure]
    page().eval("press(shownItem, 'Leave it')")
    assert said("focused.own") == "Forget"
    assert said("sent") == []
    page().eval("press(shownItem, 'Forget'); press(shownItem, 'Forget')")
    assert decode(json.dumps(said("sent[0]"))) == MemoryForget("i1")


def test_where_others_keep_copies_it_is_said_before_forgetting() -> None:
    """As on a server of databases, whose backups are not emptied."""
    texts = LANGUAGES["en"].page.memory
    context = page(leaves_copies=True)
    context.eval(HARNESS)
    context.eval(f"shownItem = itemView({json.dumps(ITEM)}, words(), () => 0); press(shownItem, 'Forget')")
    asked = context.eval("every(shownItem).find((each) => each.named?.role === 'alert').own")
    assert asked == f"{texts.sure} {texts.copies}"


def test_an_item_is_corrected_in_its_place(panel: quickjs.Context) -> None:
    """From the text that it has; the same text changes nothing."""
    view(ITEM)
    page().eval("press(shownItem, 'Correct')")
    assert said("[focused.tagName, focused.value, focused.maxLength]") == [
        "TEXTAREA",
        ITEM["text"],
        ITEM_TEXT,
    ]
    page().eval("fill(shownItem, ' The budget is 70 000 kr. ')")
    assert decode(json.dumps(said("sent[0]"))) == MemoryEdit("i1", "The budget is 70 000 kr.", 3)
    view(ITEM)
    page().eval(f"press(shownItem, 'Correct'); fill(shownItem, {json.dumps(ITEM['text'])})")
    assert said("sent") == []
    assert said("focused.own") == "Correct"


def test_history_is_asked_for_when_it_is_opened(panel: quickjs.Context) -> None:
    """Once; it says when, what, and by whom."""
    view(ITEM)
    page().eval(
        "var folded = every(shownItem).filter((each) => each.tagName === 'DETAILS').pop();"
        "folded.open = true; answers = []; folded.happens('toggle');"
    )
    assert decode(json.dumps(said("sent[0]"))) == MemoryList(item="i1")
    changes = [
        {"item": "i1", "at": 20_000 * DAY, "trigger": "propose", "after": "proposed"},
        {"item": "i1", "at": 20_001 * DAY, "trigger": "approve", "after": "accepted", "by": "user"},
        {"item": "i1", "at": 20_002 * DAY, "trigger": "expire", "after": "expired", "by": "rule"},
    ]
    page().eval(f"answers.pop()({json.dumps(changes)}); folded.happens('toggle')")
    assert said("sent.length") == 1
    shown = " ".join(flat(said("folded.tree")))
    for line in ("2024-10-04: Proposed", "2024-10-05: Remembered (you)", "2024-10-06: Expired (by itself)"):
        assert f"LI {line}" in shown


# --- the panel


def started(thread: str = "t1", **kept: str) -> None:
    """Open a page on a server that remembers."""
    js("fresh")
    for where, id in kept.items():
        page().eval(f"{where}.setItem('thread', {json.dumps(id)})")
    page().eval("memory.begin(true, (frame) => sent.push(frame))")
    (frame,) = sent()
    told({"type": "thread", "thread": thread, "id": frame["id"]})


def listed(*items: dict[str, Any], after: int | None = None) -> dict[str, Any]:
    """Answer the list that was asked for; return what was asked."""
    (frame,) = sent()
    assert frame["type"] == "memory_list"
    answer: dict[str, Any] = {"type": "memory", "items": items, "id": frame["id"]}
    told(answer if after is None else answer | {"after": after})
    return frame


def opened(proposed: tuple[Any, ...] = (PROPOSED,), every: tuple[Any, ...] = (ITEM, PROPOSED)) -> None:
    """Open the panel, on these items."""
    started()
    listed(*proposed)
    page().eval("byIds['memory-open'].happens('click')")
    first, second = sent()
    told({"type": "memory", "items": proposed, "id": first["id"]})
    told({"type": "memory", "items": every, "id": second["id"]})


def test_a_server_that_remembers_nothing_has_no_panel(panel: quickjs.Context) -> None:
    """Its button is hidden, and nothing is asked."""
    js("fresh")
    page().eval("memory.begin(false, (frame) => sent.push(frame)); memory.refresh()")
    assert said("byIds['memory-open'].hidden") is True
    assert sent() == []


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ({}, None),
        ({"localStorage": "before"}, "before"),
        ({"localStorage": "another tab's", "sessionStorage": "mine"}, "mine"),
    ],
)
def test_a_reloaded_page_goes_on_in_its_thread(
    kept: dict[str, str], asked: str | None, panel: quickjs.Context
) -> None:
    """By the id that it keeps, its own tab's first."""
    js("fresh")
    for where, id in kept.items():
        page().eval(f"{where}.setItem('thread', {json.dumps(id)})")
    page().eval("memory.begin(true, (frame) => sent.push(frame))")
    (frame,) = sent()
    read = decode(json.dumps(frame))
    assert isinstance(read, OpenThread)
    assert read.thread == asked


def test_a_thread_is_kept_once_something_was_answered_in_it(panel: quickjs.Context) -> None:
    """Before that there is nothing to go on with; a new connection of the page goes on in it all the same."""
    started("t1")
    assert said("[sessionStorage.kept, localStorage.kept]") == [{}, {}]
    page().eval("memory.keepThread()")
    assert said("[sessionStorage.kept, localStorage.kept]") == [{"thread": "t1"}, {"thread": "t1"}]
    sent()
    page().eval("memory.begin(true, (frame) => sent.push(frame))")
    assert [(frame["type"], frame["thread"]) for frame in sent()] == [("open_thread", "t1")]


def test_a_thread_that_is_not_there_any_more_is_let_go(panel: quickjs.Context) -> None:
    """The page then goes on in the one that the server gives it, and says nothing of it."""
    js("fresh")
    page().eval("localStorage.setItem('thread', 'gone'); memory.begin(true, (frame) => sent.push(frame))")
    (frame,) = sent()
    error = {"type": "error", "code": "unknown_thread", "message": "No.", "id": frame["id"]}
    assert said(f"memory.memoryFailed({json.dumps(error)})") is True
    (again,) = sent()
    assert "thread" not in again
    told({"type": "thread", "thread": "t2", "id": again["id"]})
    page().eval("memory.keepThread()")
    assert said("localStorage.kept") == {"thread": "t2"}
    assert said("byIds['memory-told'].own") == ""


def test_a_thread_that_cannot_be_opened_now_is_opened_later(panel: quickjs.Context) -> None:
    """When somebody looks at the panel; its button is there, and its id is not given up."""
    js("fresh")
    page().eval("localStorage.setItem('thread', 'mine'); memory.begin(true, (frame) => sent.push(frame))")
    (frame,) = sent()
    error = {"type": "error", "code": "memory_failed", "message": "No.", "id": frame["id"]}
    page().eval(f"memory.memoryFailed({json.dumps(error)})")
    assert said("byIds['memory-open'].own") == "What I remember"
    page().eval("byIds['memory-open'].happens('click')")
    (frame,) = sent()
    assert (frame["type"], frame["thread"]) == ("open_thread", "mine")
    page().eval(f"memory.memoryFailed({json.dumps(error | {'id': frame['id']})})")
    assert said("byIds['memory-told'].own") == LANGUAGES["en"].page.error.memory_failed


def test_the_script_that_connects_can_be_read() -> None:
    """It runs in a browser only; here it is seen that it is one, and that no two things in it have one name."""
    context = quickjs.Context()
    source = re.sub(r"^import \{([^}]*)\}.*;$", r"const [\1] = [];", SOURCES["app.js"], flags=re.MULTILINE)
    context.set("source", f"'use strict'; {source}")
    assert context.eval("typeof new Function(source)") == "function"


def test_a_page_that_can_keep_nothing_works(panel: quickjs.Context) -> None:
    """Each of its loads is a thread of its own."""
    js("fresh")
    page().eval(
        "sessionStorage.getItem = sessionStorage.setItem = () => { throw new Error('denied'); };"
        "memory.begin(true, (frame) => sent.push(frame))"
    )
    (frame,) = sent()
    told({"type": "thread", "thread": "t1", "id": frame["id"]})
    page().eval("memory.keepThread()")


def test_what_waits_for_a_decision_is_counted_on_the_button(panel: quickjs.Context) -> None:
    """Asked for by itself while the panel is closed, however long the list is."""
    started()
    assert listed(PROPOSED, after=20)["status"] == "proposed"
    assert listed(PROPOSED | {"id": "i9"})["after"] == 20
    assert said("byIds['memory-open'].own") == "What I remember (2)"
    page().eval("memory.refresh()")
    listed()
    assert said("byIds['memory-open'].own") == "What I remember"


def test_the_panel_shows_proposals_then_what_counts_then_what_ended(panel: quickjs.Context) -> None:
    """Each in a list of its own, the newest first; what is empty is not there."""
    old = ITEM | {"id": "i0", "status": "superseded", "text": "The budget is 40 000 kr."}
    other = ITEM | {"id": "i3", "text": "It is blue."}
    opened(every=(old, ITEM, PROPOSED, other))
    assert said("byIds.memory.open") is True
    texts = {
        name: [
            [each for each in flat(item) if str(each).startswith(("The budget", "It is"))][-1]
            for item in said(f"byIds['memory-{name}'].tree")[3:]
        ]
        for name in ("proposed", "live", "ended")
    }
    assert texts["proposed"] == [PROPOSED["text"]]
    assert texts["live"] == ["It is blue.", ITEM["text"]]
    assert texts["ended"] == [old["text"]]
    assert (
        said("['proposed', 'live', 'ended'].map((name) => byIds[`memory-${name}-box`].hidden)") == [False] * 3
    )
    assert said("byIds['memory-nothing'].hidden") is True
    opened((), ())
    assert (
        said("['proposed', 'live', 'ended'].map((name) => byIds[`memory-${name}-box`].hidden)") == [True] * 3
    )
    assert said("byIds['memory-nothing'].hidden") is False


def test_a_list_that_lacks_something_says_so(panel: quickjs.Context) -> None:
    """And not that nothing is remembered."""
    opened((), ())
    assert said("byIds['memory-incomplete'].hidden") is True
    page().eval("memory.refresh()")
    first, second = sent()[-2:]
    told({"type": "memory", "items": [], "id": first["id"]})
    told({"type": "memory", "items": [], "incomplete": True, "id": second["id"]})
    assert said("byIds['memory-incomplete'].hidden") is False
    assert said("byIds['memory-nothing'].hidden") is True


def test_what_was_decided_is_told_and_keeps_the_focus(panel: quickjs.Context) -> None:
    """The status region says how it stands, the lists come anew, and the item has the focus; of a forgotten one
    the panel's title has it."""
    opened()
    page().eval("press(byIds['memory-proposed'], 'Remember')")
    (frame,) = sent()
    accepted = PROPOSED | {"status": "accepted", "replaces": [], "decisions": []}
    told({"type": "memory_changed", "item": accepted, "id": frame["id"]})
    assert said("byIds['memory-told'].own") == "Remembered"
    first, second = sent()
    told({"type": "memory", "items": [], "id": first["id"]})
    told({"type": "memory", "items": [accepted], "id": second["id"]})
    assert said("focused === byIds['memory-live'].children[0]") is True
    page().eval("press(byIds['memory-live'], 'Forget'); press(byIds['memory-live'], 'Forget')")
    (frame,) = sent()
    told(
        {"type": "memory_changed", "item": accepted | {"status": "forgotten", "text": ""}, "id": frame["id"]}
    )
    first, second = sent()
    told({"type": "memory", "items": [], "id": first["id"]})
    told({"type": "memory", "items": [], "id": second["id"]})
    assert said("focused === byIds['memory-title']") is True
    assert said("byIds['memory-told'].own") == "Forgotten"


TALK = [
    {"kind": "mine", "text": "Remember that the BUDGET is 50 000 kr, please"},
    {"kind": "answer", "text": "Noted.", "ended": True},
    {"kind": "card", "action": "remember", "payload": {"item": "i1", "text": "x"}},
    {"kind": "card", "action": "remember", "payload": PROPOSED | {"item": "i2"}},
    {"kind": "card", "action": "open_ticket", "payload": {"text": "The budget is 50 000 kr."}},
    {"kind": "mine", "text": "What is the budget?"},
    {"kind": "answer", "text": "50 000 kr", "citations": [{"file": "memory/i1"}], "ended": True},
    {"kind": "mine", "text": "When does it open?"},
    {"kind": "answer", "text": "At 8.", "citations": [{"file": "memory/i11"}], "ended": True},
    {"kind": "note", "text": "The budget is 500 000 kr"},
    {"kind": "answer", "text": "So, my budget is 50 000 kr.", "ended": True},
]


def test_what_is_forgotten_is_not_shown_any_more(panel: quickjs.Context) -> None:
    """Nor kept for a reload: what says it, with the answer to that, what cites it, and what asks about it."""
    page().eval(f"var talk = new Kept(store()); clear(); var entries = {json.dumps(TALK)};")
    page().eval("for (const each of entries) { talk.add(each); show[each.kind](each); }")
    opened()
    page().eval(
        "memory.begin(true, (frame) => sent.push(frame),"
        " (item) => { for (const entry of talk.forget(item)) takeAway(entry); }); sent = [];"
        "press(byIds['memory-live'], 'Forget'); press(byIds['memory-live'], 'Forget')"
    )
    (frame,) = sent()
    assert said("talk.entries.length") == len(TALK)  # not before it is done
    told({"type": "memory_changed", "item": ITEM | {"status": "forgotten", "text": ""}, "id": frame["id"]})
    left = ["What is the budget?", "When does it open?", "At 8.", "The budget is 500 000 kr"]
    assert said("talk.entries.map((each) => each.text)") == left
    assert said("new Kept(talk.storage).earlier().map((each) => each.text)") == left
    shown = " ".join(flat(said("byIds.log.tree")))
    assert "What is the budget?" in shown
    assert not [text for text in ("50 000 kr,", "50 000 kr.", "60 000", "Noted") if text in shown]
    page().eval("clear()")


def test_a_word_or_two_take_nothing_else_with_them(panel: quickjs.Context) -> None:
    """As the server has it: what says nothing else goes, a sentence with these words stays."""
    entries = [{"kind": "mine", "text": text} for text in ("Blue!", "The blue one")]
    page().eval(f"var entries = {json.dumps(entries)};")
    assert said("[...repeating(entries, {id: 'i1', text: 'blue'})].map((each) => each.text)") == ["Blue!"]
    assert said("repeating(entries, {id: 'i1', text: ''}).size") == 0


def test_what_somebody_writes_is_not_taken_from_him(panel: quickjs.Context) -> None:
    """A list that comes while a form is open waits; an error leaves it open, unless what it is about has changed."""
    opened()
    page().eval("press(byIds['memory-live'], 'Correct'); memory.refresh()")
    first, second = sent()
    told({"type": "memory", "items": [], "id": first["id"]})
    told({"type": "memory", "items": [], "id": second["id"]})
    assert said("byIds['memory-live'].querySelector('.correct') !== null") is True
    for code, stays in (("bad_item", True), ("changed", False)):
        page().eval("fill(byIds['memory-live'], 'It is green.')")
        (frame,) = sent()
        error = {"type": "error", "code": code, "message": "No.", "id": frame["id"]}
        assert said(f"memory.memoryFailed({json.dumps(error)})") is True
        assert said("byIds['memory-told'].own") == getattr(LANGUAGES["en"].page.error, code)
        first, second = sent()
        told({"type": "memory", "items": [PROPOSED], "id": first["id"]})
        told({"type": "memory", "items": [ITEM, PROPOSED], "id": second["id"]})
        assert said("byIds['memory-live'].querySelector('.correct') !== null") is stays


def test_an_error_about_something_else_is_not_the_panels(panel: quickjs.Context) -> None:
    """And an answer to what was asked before the connection broke is none."""
    started()
    assert (
        said('memory.memoryFailed({"type": "error", "code": "busy", "message": "No.", "id": "m1"})') is False
    )
    (frame,) = sent()
    page().eval("memory.memoryLost()")
    told({"type": "memory", "items": [PROPOSED], "id": frame["id"]})
    assert sent() == []


# --- the chat


def test_a_citation_of_what_is_remembered_leads_to_no_file(panel: quickjs.Context) -> None:
    """It shows the text, the day and who said it."""
    cited = [
        {
            "file": "memory/t7",
            "snippet": "My budget is 50 000 kr.",
            "lines": [1, 1],
            "when": "2026-05-03",
            "by": "user",
        },
        {
            "file": "memory/i1",
            "snippet": "It is blue.",
            "lines": [1, 1],
            "heading": "2026-05-04",
            "when": "2026-05-04",
        },
        {"file": "memory/t8", "snippet": "It is red.", "when": "2026-05-05", "by": "Ana"},
    ]
    shown = " ".join(flat(js("((cited) => sources(cited, words()).tree)", cited)))
    assert "SUMMARY [1]  BDI Said on 2026-05-03 by you PRE My budget is 50 000 kr." in shown
    assert "SUMMARY [2]  BDI Remembered on 2026-05-04 PRE It is blue." in shown
    assert "SUMMARY [3]  BDI Said on 2026-05-05 by Ana PRE It is red." in shown
    assert "memory/" not in shown
    assert "BUTTON" not in shown


def test_a_suggestion_to_remember_says_what_in_plain_words(panel: quickjs.Context) -> None:
    """And what it would replace; no names of fields, no ids."""
    payload = {"item": "i2", "text": PROPOSED["text"], "replaces": PROPOSED["replaces"]}
    shown = flat(
        js("((entry) => show.card(entry).tree)", {"kind": "card", "action": "remember", "payload": payload})
    )
    line = " ".join(map(str, shown))
    assert "H2 Shall I remember this?" in line
    assert "H4 Remembered now P The budget is 50 000 kr." in line
    assert "H4 In its place P The budget is 60 000 kr." in line
    assert not {"i1", "i2", "Item", "Text", "Replaces"} & set(shown)
    alone = flat(
        js(
            "((entry) => show.card(entry).tree)",
            {"action": "remember", "payload": {"item": "i2", "text": "A."}},
        )
    )
    assert alone[-3:] == ["Shall I remember this?", "P", "A."]


@pytest.mark.parametrize(
    "part",
    [
        '<dialog id="memory" aria-labelledby="memory-title">',
        '<h2 id="memory-title" tabindex="-1"',
        '<p id="memory-told" role="status"></p>',
        '<section id="memory-proposed-box" aria-labelledby="memory-proposed-title" hidden>',
        '<ul id="memory-live" role="list"></ul>',
        '<button id="memory-open" type="button" data-memory="open" hidden></button>',
    ],
)
def test_the_panel_can_be_found_without_seeing_it(part: str) -> None:
    """Its parts have names and roles, and its button is a button."""
    assert part in SOURCES["index.html"]
