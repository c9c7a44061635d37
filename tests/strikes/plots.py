"""The scenarios that are struck (strikes.py says with what).

A plot is what a client does when nothing goes wrong; each of its waits has a deadline, because after a strike the
frame it waits for may never come. When its script has ended, its client stays for a while and then closes.
Those about calls of tools are in call_plots.py, those about what is remembered in memory_plots.py.
"""

import trio

from agent.testing.breakable import SENTINEL, DraftScript

from .call_plots import CALLS
from .keeping_plots import MEMORIES
from .lab import CONFIRM_TIME, Lab
from .memory_plots import MEMORY
from .plot import Book, Plot, heard
from .raw import RawClient

CALL = "call me on 070-174 06 05"
_BOOK = Book()
plot = _BOOK.plot


def plots() -> dict[str, Plot]:
    """Return every scenario by its name, but for those in which what is said is remembered."""
    return {each.name: each for each in (*_BOOK, *CALLS, *MEMORY)}


def memories() -> dict[str, Plot]:
    """Return the scenarios in which something is remembered; each of their runs takes five times as long."""
    return {each.name: each for each in MEMORIES}


async def suggested(client: RawClient, text: str = CALL, count: int = 1) -> list[str]:
    """Ask for something that suggests actions; return their ids."""
    client.send("message", id="a", text=text)
    await heard(client, "action_suggestion", count)
    return [frame["suggestionId"] for frame in client.frames if frame["type"] == "action_suggestion"] or [
        "none"
    ]


@plot()
async def plain_answer(lab: Lab, client: RawClient) -> None:
    """A question and its answer."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")


@plot(drafts=(DraftScript(f"It costs {SENTINEL} kr."), DraftScript("It costs 299 kr.")))
async def redraft(lab: Lab, client: RawClient) -> None:
    """The first draft holds an invented number, the second stands."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")


@plot(drafts=(DraftScript(f"It costs {SENTINEL} kr.", think=1.0), DraftScript("It costs 299 kr.", think=1.0)))
async def slow_answer(lab: Lab, client: RawClient) -> None:
    """Each draft takes a while, and the client asks to be told what its turn does."""
    client.send("message", id="a", text="price?", progress=True)
    await heard(client, "progress")
    await heard(client, "response")


@plot(drafts=(DraftScript(f"It costs {SENTINEL} kr."),))
async def refusal(lab: Lab, client: RawClient) -> None:
    """Both drafts hold an invented number."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")


@plot(
    drafts=(
        DraftScript(f"The plan costs 299 kr per month. Now it is {SENTINEL} kr in Norway. And so it goes."),
        DraftScript("The plan costs 299 kr per month. It can be cancelled on any day."),
    ),
    by_sentence=True,
)
async def sentences(lab: Lab, client: RawClient) -> None:
    """The first sentence is sent, the second holds an invented number, and another draft goes on."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")


@plot(after=0.1)
async def suggestion_then_confirm(lab: Lab, client: RawClient) -> None:
    """An action is suggested, confirmed twice, and carried out."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed", 2)


@plot(before=0.05, after=0.05)
async def two_live_suggestions(lab: Lab, client: RawClient) -> None:
    """Both are confirmed at once and run one after the other."""
    for sid in reversed(await suggested(client, f"{CALL} and open a ticket", 2)):
        client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed", 2)


@plot()
async def reject(lab: Lab, client: RawClient) -> None:
    """A suggestion is declined, and confirmed too late."""
    (sid, *_) = await suggested(client)
    client.send("reject_action", suggestionId=sid)
    await heard(client, "action_closed")
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed")


@plot(after=0.1)
async def confirm_during_a_stream(lab: Lab, client: RawClient) -> None:
    """A confirm waits for the answer in progress."""
    (sid, *_) = await suggested(client)
    client.send("message", id="b", text="price?")
    await heard(client, "stream", 5)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed")


@plot(before=0.1, after=0.1)
async def confirm_then_cancel(lab: Lab, client: RawClient) -> None:
    """An action is stopped before it begins."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)
    client.send("cancel")
    await heard(client, "action_executed")


@plot(claim=1.0, after=0.1)
async def cancel_during_the_claim(lab: Lab, client: RawClient) -> None:
    """An action is stopped while the ledger decides, and another one is let run."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)
    await trio.sleep(0.3)
    client.send("cancel")
    await heard(client, "action_executed")
    client.send("message", id="b", text=CALL)
    sid = await heard(client, "action_suggestion", 2)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed", 2)


@plot(claim=3600.0)
async def ledger_that_hangs(lab: Lab, client: RawClient) -> None:
    """An action cannot be claimed, and its confirm is repeated."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed")
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed", 2)


@plot(before=0.05, after=0.2)
async def message_during_executing(lab: Lab, client: RawClient) -> None:
    """Questions wait for the action and are then answered."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)
    await trio.sleep(0.1)
    client.send("message", id="b", text="price?")
    client.send("message", id="c", text="price?")
    await heard(client, "response", 3)


@plot()
async def expiry_at_the_instant_of_a_confirm(lab: Lab, client: RawClient) -> None:
    """A confirm arrives exactly when the suggestion's time is over."""
    (sid, *_) = await suggested(client)
    suggested_at = max((entry.at for entry in lab.transcript), default=0.0)
    await trio.sleep_until(suggested_at + CONFIRM_TIME)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed")


@plot(room=40)
async def slow_reader(lab: Lab, client: RawClient) -> None:
    """A client reads nothing for a while, cancels, and then reads."""
    client.send("message", id="a", text="price?")
    await trio.sleep(1)
    client.send("cancel")
    await trio.sleep(1)
    lab.nursery.start_soon(client.read_all)
    await heard(client, "stream_end")


@plot(room=150)
async def reader_in_drips(lab: Lab, client: RawClient) -> None:
    """A client takes a few bytes at a time, so that frames are begun and not ended, and pings meanwhile."""
    client.send("message", id="a", text="price?")
    for moment in range(20):
        await trio.sleep(0.03)
        client.take(13)
        if moment % 10 == 3:
            client.ping()
    lab.nursery.start_soon(client.read_all)
    await heard(client, "response")


@plot(room=150)
async def blocked_client_that_leaves(lab: Lab, client: RawClient) -> None:
    """A client that reads nothing is gone while a frame is begun and others wait behind it."""
    client.send("message", id="a", text="price?")
    client.ping()
    await trio.sleep(1)
    client.vanish()


@plot(drafts=(DraftScript("It costs 299 kr.", hang=True),))
async def model_that_hangs(lab: Lab, client: RawClient) -> None:
    """A cancel and a new question, while the model never answers."""
    client.send("message", id="a", text="price?")
    await trio.sleep(1)
    client.send("cancel")
    await heard(client, "stream_end")
    client.send("message", id="b", text="price?")
    await trio.sleep(1)
    client.send("message", id="c", text="about nothing")
    await heard(client, "response")


@plot(drafts=(DraftScript("It costs 299 kr.", fail=True),))
async def model_that_fails_midway(lab: Lab, client: RawClient) -> None:
    """The model breaks in the middle of a draft."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")


@plot(after=float("inf"))
async def webhook_that_hangs(lab: Lab, client: RawClient) -> None:
    """An action begins and never ends: its outcome is unknown when its deadline passes."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)
    await trio.sleep(11)
    await heard(client, "action_executed")


async def confirmed(client: RawClient) -> None:
    """Ask for an action and confirm it."""
    (sid, *_) = await suggested(client)
    client.send("confirm_action", suggestionId=sid)


@plot(before=0.1, after=0.05)
async def cancel_by_the_id_of_what_led_to_it(lab: Lab, client: RawClient) -> None:
    """Two questions led to an action each; the first one's is stopped, the second one's runs."""
    await suggested(client)
    client.send("message", id="b", text="open a ticket")
    await heard(client, "action_suggestion", 2)
    for frame in [frame for frame in client.frames if frame["type"] == "action_suggestion"]:
        client.send("confirm_action", suggestionId=frame["suggestionId"])
    await trio.sleep(0.05)
    client.send("cancel", id="a")
    await heard(client, "action_executed", 2)


@plot(before=0.05, after=0.05, deaf=True)
async def executor_that_hears_late(lab: Lab, client: RawClient) -> None:
    """An executor prepares its effect where no cancel reaches it."""
    await confirmed(client)
    await heard(client, "action_executed")


@plot(before=1.0, after=1.0)
async def client_gone_before_its_action_begins(lab: Lab, client: RawClient) -> None:
    """A client confirms and resets the connection."""
    await confirmed(client)
    await trio.sleep(0.5)
    client.reset()
    await trio.sleep(3)


@plot(after=8.0)
async def client_gone_while_its_action_runs(lab: Lab, client: RawClient) -> None:
    """A client leaves in the middle of its action: the action goes on, the session does not."""
    await confirmed(client)
    await trio.sleep(1)
    client.vanish()
    await trio.sleep(8)


@plot(after=8.0)
async def drain_while_an_action_runs(lab: Lab, client: RawClient) -> None:
    """The server goes down: the action is carried out, its client is told, and then closed."""
    await confirmed(client)
    await trio.sleep(1)
    lab.drain()
    await heard(client, "action_executed")
    await trio.sleep(8)


@plot(after=8.0)
async def drain_after_the_client_has_gone(lab: Lab, client: RawClient) -> None:
    """The server goes down while an action runs that is nobody's any more."""
    await confirmed(client)
    await trio.sleep(1)
    client.goodbye()
    await trio.sleep(1)
    lab.drain()
    await trio.sleep(8)


@plot()
async def goodbye_in_a_turn(lab: Lab, client: RawClient) -> None:
    """A client closes, by the rules, in the middle of an answer."""
    client.send("message", id="a", text="price?")
    await heard(client, "stream", 2)
    client.goodbye()
    await trio.sleep(1)


@plot(answers=False)
async def client_that_stays(lab: Lab, client: RawClient) -> None:
    """A client that answers no close frame and asks nothing of it."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")


@plot(answers=False)
async def client_that_never_closes(lab: Lab, client: RawClient) -> None:
    """The server closes on a client that breaks the rules, and the client does not answer."""
    client.send("message", id="a", text="price?")
    await heard(client, "response")
    for _ in range(3):
        client.send_text("{")
    await heard(client, "error", 3)
