"""The thumbs below an answer, run: what is sent, what is shown as stored, and what stays where nothing was."""

import json
from typing import Any

import pytest
import quickjs

from agent.protocol.codec import decode
from agent.protocol.inbound import RateAnswer

from .test_page import page

HARNESS = """
Node.prototype.value = "";
var outbox, saved, entry, box;
function begin(on = true) {
  outbox = [];
  saved = 0;
  beginFeedback(on, (frame) => outbox.push(frame), () => saved++);
  entry = { kind: "answer", text: "5 kr.", confidence: "high" };
  box = thumbs(entry, "m1");
}
function thumb(verdict) { return box.children.find((each) => each.className === `thumb ${verdict}`); }
function word() { return box.children.find((each) => each.tagName === "FORM"); }
function field() { return word().children[0].children[1]; }
function shownStatus() { return box.children.find((each) => each.className === "remark").own; }
function pressed() { return ["up", "down"].map((each) => thumb(each).named["aria-pressed"]).join(" "); }
function stored(frame) { feedbackFrames.feedback_stored({ text: "", ...frame }); }
"""


@pytest.fixture
def thumbs() -> quickjs.Context:
    """An answer with its thumbs."""
    context = page.__wrapped__()  # with a harness of its own
    context.eval(f"{HARNESS} begin();")
    return context


def sent(context: quickjs.Context) -> list[dict[str, Any]]:
    """What was sent."""
    frames: list[dict[str, Any]] = json.loads(context.eval("JSON.stringify(outbox)"))
    return frames


def test_a_thumb_sends_its_verdict_and_shows_it_as_stored(thumbs: quickjs.Context) -> None:
    """In a form that the server takes; the entry keeps it only once it is stored."""
    thumbs.eval("thumb('down').happens('click')")
    [frame] = sent(thumbs)
    assert decode(json.dumps(frame)) == RateAnswer("m1", "down", None, frame["id"])
    assert thumbs.eval("pressed()") == "false true"
    assert thumbs.eval("shownStatus()") == "Sending…"
    assert thumbs.eval("JSON.stringify(entry.feedback)") is None
    thumbs.eval("stored({ verdict: 'down', id: outbox[0].id })")
    assert json.loads(thumbs.eval("JSON.stringify(entry.feedback)")) == {"verdict": "down"}
    assert (thumbs.eval("saved"), thumbs.eval("shownStatus()")) == (1, "Kept. You can add a word.")


def test_words_are_added_and_a_mind_changes(thumbs: quickjs.Context) -> None:
    """The words go with whichever verdict is given; the last one stands."""
    thumbs.eval("thumb('down').happens('click'); field().value = ' Too old '; word().happens('submit');")
    assert [(each["verdict"], each.get("text")) for each in sent(thumbs)] == [
        ("down", None),
        ("down", "Too old"),
    ]
    thumbs.eval("stored({ verdict: 'down', text: 'Too old', id: outbox[1].id })")
    assert thumbs.eval("shownStatus()") == "Kept, with your words."
    thumbs.eval("thumb('up').happens('click'); stored({ verdict: 'up', text: 'Too old', id: outbox[2].id })")
    assert thumbs.eval("pressed()") == "true false"
    assert json.loads(thumbs.eval("JSON.stringify(entry.feedback)")) == {"verdict": "up", "text": "Too old"}


@pytest.mark.parametrize("how", ["feedbackFailed({ id: outbox[1].id }, 'Not now.')", "feedbackLost()"])
def test_a_failure_loses_no_word(how: str, thumbs: quickjs.Context) -> None:
    """It says so; what is typed stays, and so does the verdict that was stored before."""
    thumbs.eval("thumb('up').happens('click'); stored({ verdict: 'up', id: outbox[0].id });")
    thumbs.eval(f"field().value = 'Nice'; thumb('down').happens('click'); {how};")
    assert thumbs.eval("pressed()") == "true false"
    assert thumbs.eval("field().value") == "Nice"
    assert thumbs.eval("shownStatus()") in (
        "Not now.",
        "The connection was lost before this was kept. Press again once it is back.",
    )
    assert json.loads(thumbs.eval("JSON.stringify(entry.feedback)")) == {"verdict": "up"}


def test_without_a_connection_a_thumb_says_so(thumbs: quickjs.Context) -> None:
    """And sends nothing; once there is one, pressing again does."""
    thumbs.eval("feedbackLost(); thumb('up').happens('click');")
    assert sent(thumbs) == []
    assert "connection was lost" in thumbs.eval("shownStatus()")
    assert thumbs.eval("pressed()") == "false false"


def test_an_error_about_something_else_is_not_the_thumbs(thumbs: quickjs.Context) -> None:
    """Nor is what was stored under another label."""
    assert thumbs.eval("feedbackFailed({ id: 'm1' }, 'x')") is False
    thumbs.eval("stored({ verdict: 'up', id: 'another' })")
    assert thumbs.eval("pressed()") == "false false"


@pytest.mark.parametrize(
    ("entry", "message", "shown"),
    [
        ({"text": "5 kr.", "confidence": "low"}, "m1", True),
        ({"text": "No.", "blocked": {"code": "no_sources"}}, "m1", True),
        ({"text": "Hello."}, "m1", False),
        ({"text": "", "confidence": "low"}, "m1", False),
        ({"text": "5 kr.", "confidence": "low"}, None, False),
    ],
)
def test_what_is_an_answer_of_this_session_has_thumbs(
    entry: dict[str, Any], message: str | None, shown: bool, thumbs: quickjs.Context
) -> None:
    """A greeting, an answer that was cut short and one of an earlier page have none."""
    given = f"{json.dumps(entry)}, {json.dumps(message)}"
    assert thumbs.eval(f"thumbs({given}) !== null") is shown
    thumbs.eval("begin(false)")
    assert thumbs.eval(f"thumbs({given})") is None


def test_an_earlier_pages_verdict_is_shown(thumbs: quickjs.Context) -> None:
    """With its words, as text, without a button."""
    kept = {"text": "5 kr.", "confidence": "low", "feedback": {"verdict": "down", "text": "<b>Old</b>"}}
    tree = thumbs.eval(f"JSON.stringify(thumbs({json.dumps(kept)}, undefined).tree)")
    assert json.loads(tree) == ["DIV", "", "", ["P", "", "Bad answer: <b>Old</b>"]]
