"""The page's cards of suggestions, run: what is typed outlives the time for a confirm; one that expired is renewed."""

import json
from typing import Any

import pytest
import quickjs

from agent.protocol.codec import decode
from agent.protocol.inbound import ConfirmAction, RejectAction

from .test_page import MODULE, SOURCES, page

HARNESS = """
function fields(node) {
  const inner = node instanceof Node ? node.children.flatMap((each) => [each, ...fields(each)]) : [];
  return inner.filter((each) => ["INPUT", "TEXTAREA", "BUTTON"].includes(each.tagName));
}
function formOf(card) { return card.children.find((each) => each.tagName === "FORM"); }
function press(card, word) {
  const found = fields(card).filter((each) => each.own === word);
  if (found.length !== 1 || found[0].disabled) throw new Error(`no single ${word} to press`);
  if (found[0].className === "confirm") formOf(card).happens("submit");
  else found[0].happens("click");
}
Object.defineProperty(Node.prototype, "elements", { get() { return fields(this); } });
Node.prototype.replaceWith = function (other) {
  other.parent = this.parent;
  this.parent.children.splice(this.parent.children.indexOf(this), 1, other);
};
var questions, outbox, clock, online, board;
Date.now = () => clock * 1000;
function fresh() {
  clear();
  questions = [];
  outbox = [];
  clock = 0;
  online = true;
  board = ((refresh) => {
    SOURCE
    const pick = (text) => {
      if (!online) return undefined;
      questions.push(text);
      noteMessage(`m${questions.length}`, text);
      return `m${questions.length}`;
    };
    const storage = { getItem: () => null, setItem() {}, removeItem() {} };
    beginCards(120, (frame) => outbox.push(frame), pick, new Kept(storage));
    return { pick, anyCard, cardFrames, cardFailed, cardsLost, tickCards };
  })(() => {});
}
"""
CALL = {
    "type": "action_suggestion",
    "suggestionId": "s1",
    "id": "m1",
    "action": "schedule_callback",
    "payload": {},
    "missing": ["phone"],
}
EXPIRED = {"type": "action_closed", "suggestionId": "s1", "reason": "expired"}


@pytest.fixture(scope="module")
def cards() -> quickjs.Context:
    """A page of its own, with the module of cards."""
    made = page.__wrapped__()
    made.eval(HARNESS.replace("SOURCE", MODULE.sub("", SOURCES["cards.js"])))
    return made


@pytest.fixture
def context(cards: quickjs.Context) -> quickjs.Context:
    """The page without cards, after the message `call me`."""
    cards.eval("fresh(); board.pick('call me')")
    return cards


def hears(context: quickjs.Context, *frames: dict[str, Any]) -> None:
    """Let the server say something."""
    for frame in frames:
        context.eval(f"board.cardFrames[{json.dumps(frame['type'])}]({json.dumps(frame)})")


def types(context: quickjs.Context, text: str) -> None:
    """Type into the only field of the last card."""
    context.eval(
        f"fields(log.lastElementChild)[0].value = {json.dumps(text)}; formOf(log.lastElementChild).happens('input')"
    )


def press(context: quickjs.Context, word: str, card: int = -1) -> None:
    """Press a button of a card, by default of the last."""
    context.eval(f"press(log.children.at({card}), {json.dumps(word)})")


def sent(context: quickjs.Context) -> list[Any]:
    """Return the frames that the page has sent, decoded as the server does."""
    return [decode(json.dumps(each)) for each in json.loads(context.eval("JSON.stringify(outbox)"))]


def asked(context: quickjs.Context) -> list[str]:
    """Return the messages that were asked."""
    found: list[str] = json.loads(context.eval("JSON.stringify(questions)"))
    return found


def shows(context: quickjs.Context, card: int = -1) -> str:
    """Return all that a card shows, as JSON."""
    return str(context.eval(f"JSON.stringify(log.children.at({card}).tree)"))


def test_a_card_counts_down_until_its_user_types(context: quickjs.Context) -> None:
    """Without a key its fields are shut at the end; with one its clock stops and they stay open."""
    hears(context, CALL)
    context.eval("clock = 20; board.tickCards()")
    assert "100 s left" in shows(context)
    types(context, "0701")
    assert "s left" not in shows(context)
    context.eval("clock = 500; board.tickCards()")
    assert context.eval("fields(log.lastElementChild).some((each) => each.disabled)") is False
    hears(context, CALL | {"suggestionId": "s2"})
    context.eval("clock = 700; board.tickCards()")
    assert context.eval("fields(log.lastElementChild).every((each) => each.disabled)") is True


def test_a_confirm_in_time_is_sent_as_it_is(context: quickjs.Context) -> None:
    """With what was typed."""
    hears(context, CALL)
    types(context, "0701740605")
    press(context, "Confirm")
    assert sent(context) == [ConfirmAction("s1", {"phone": "0701740605"})]
    assert asked(context) == ["call me"]


def test_what_was_typed_is_confirmed_after_the_time_is_over(context: quickjs.Context) -> None:
    """The message is sent again, and the same suggestion is confirmed with the same fields; only once."""
    hears(context, CALL)
    types(context, "0701740605")
    hears(context, EXPIRED)
    assert context.eval("board.anyCard('lapsed')") is True
    press(context, "Confirm")
    assert (asked(context), sent(context)) == (["call me", "call me"], [])
    hears(context, CALL | {"suggestionId": "s2", "id": "m2"})
    assert sent(context) == [ConfirmAction("s2", {"phone": "0701740605"})]
    assert "Expired" in shows(context, -2)
    hears(context, CALL | {"suggestionId": "s3", "id": "m2"})
    assert len(sent(context)) == 1


@pytest.mark.parametrize(
    "other", [{"payload": {"when": "at once"}}, {"missing": ["phone", "text"]}, {"action": "send_sms"}]
)
def test_another_suggestion_is_not_confirmed_by_itself(
    context: quickjs.Context, other: dict[str, Any]
) -> None:
    """Its user approved another payload; what was typed stands on the card of the same action."""
    hears(context, CALL)
    types(context, "0701740605")
    hears(context, EXPIRED)
    press(context, "Confirm")
    hears(context, CALL | {"suggestionId": "s2", "id": "m2"} | other)
    assert sent(context) == []
    assert ("0701740605" in shows(context)) is ("action" not in other)


def test_a_confirm_that_comes_too_late_is_asked_again(context: quickjs.Context) -> None:
    """Whichever frame says so first; nothing is sent where the page is offline, and the card says that it expired."""
    hears(context, CALL | {"payload": {"phone": "070"}, "missing": []})
    press(context, "Confirm")
    late = {"type": "action_executed", "suggestionId": "s1", "result": {"expired": True}}
    hears(context, EXPIRED, late)
    assert asked(context) == ["call me", "call me"]
    hears(context, CALL | {"suggestionId": "s2", "id": "m2", "payload": {"phone": "070"}, "missing": []})
    assert sent(context) == [ConfirmAction("s1"), ConfirmAction("s2")]
    context.eval("online = false")
    hears(context, late | {"suggestionId": "s2"})
    assert "Too late: it had expired." in shows(context)
    assert len(asked(context)) == 2


def test_an_expired_card_is_asked_again_with_one_press(context: quickjs.Context) -> None:
    """And its new suggestion waits for a confirm; the button stays while nothing can be sent."""
    hears(context, CALL, EXPIRED)
    assert "Ask again" in shows(context)
    context.eval("online = false")
    press(context, "Ask again")
    assert asked(context) == ["call me"]
    context.eval("online = true")
    press(context, "Ask again")
    assert asked(context) == ["call me", "call me"]
    assert "Ask again" not in shows(context)
    hears(context, CALL | {"suggestionId": "s2", "id": "m2"})
    assert sent(context) == []
    assert context.eval("board.anyCard('live')") is True


def test_declining_an_expired_card_sends_nothing(context: quickjs.Context) -> None:
    """The server has closed it; one that can still be confirmed is declined there."""
    hears(context, CALL)
    types(context, "070")
    hears(context, EXPIRED)
    press(context, "Decline")
    assert sent(context) == []
    hears(context, CALL | {"suggestionId": "s2"})
    press(context, "Decline")
    assert sent(context) == [RejectAction("s2")]


def test_a_lost_connection_ends_every_card(context: quickjs.Context) -> None:
    """Also one that had expired while its user typed."""
    hears(context, CALL)
    types(context, "070")
    hears(context, EXPIRED)
    context.eval("board.cardsLost()")
    assert "Cancelled; nothing was done." in shows(context)
    assert context.eval("board.anyCard('live', 'confirmed', 'lapsed')") is False


def test_a_field_that_the_server_refuses_is_filled_in_anew(context: quickjs.Context) -> None:
    """The card is open again, and any other error ends it."""
    hears(context, CALL)
    types(context, "07")
    press(context, "Confirm")
    assert context.eval("board.cardFailed({code: 'bad_message', suggestionId: 's1'}, 'no')") is True
    assert "fill in every field" in shows(context)
    assert context.eval("board.cardFailed({code: 'unknown_suggestion', suggestionId: 's1'}, 'gone')") is True
    assert "gone" in shows(context)
    assert context.eval("board.cardFailed({code: 'busy', suggestionId: 's9'}, 'no')") is False
