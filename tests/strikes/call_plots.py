"""The scenarios with tools: calls inside a turn, and calls that wait for their user's word."""

import trio
from msgspec.structs import replace

from agent.ports.decide import Act, Noop

from .lab import Lab
from .plot import Book, heard
from .raw import RawClient

LOOK_UP = Act("look_up", {"order": "A-1"})
LOOK_UP_ANOTHER = Act("look_up", {"order": "A-2"})
REFUND = Act("refund", {"order": "A-1"})
ANSWER = Noop()
ORDERS = "what about orders A-1 and A-2?"
CALLS = Book()
plot = CALLS.plot


def ask(client: RawClient, message: str = "a") -> None:
    """Ask for something that tools are called for."""
    client.send("message", id=message, text=ORDERS)


async def offered(client: RawClient) -> str:
    """Ask, and return the call that waits for its user."""
    ask(client)
    return await heard(client, "action_suggestion")


@plot(decisions=(LOOK_UP, ANSWER), before=0.05, after=0.05)
async def call_in_a_turn(lab: Lab, client: RawClient) -> None:
    """A tool is called before the question is answered."""
    ask(client)
    await heard(client, "response")


@plot(decisions=(LOOK_UP, LOOK_UP_ANOTHER, ANSWER), before=0.03, after=0.03)
async def two_calls_in_a_turn(lab: Lab, client: RawClient) -> None:
    """The second is decided on when the first has its result."""
    ask(client)
    await heard(client, "response")


@plot(decisions=(LOOK_UP, ANSWER), before=0.1, after=0.05, deaf=True)
async def call_that_hears_late(lab: Lab, client: RawClient) -> None:
    """A turn is cancelled while its call prepares its effect where no cancel reaches it."""
    ask(client)
    await trio.sleep(0.15)
    client.send("cancel")
    await heard(client, "stream_end")


@plot(decisions=(LOOK_UP, ANSWER), claim=0.5, after=0.05)
async def message_during_the_claim_of_a_call(lab: Lab, client: RawClient) -> None:
    """A turn is ended while the ledger decides about its call; the next one is answered."""
    ask(client)
    await trio.sleep(0.3)
    client.send("message", id="b", text="price?")
    await heard(client, "response")


@plot(decisions=(LOOK_UP, ANSWER), after=float("inf"))
async def call_that_hangs(lab: Lab, client: RawClient) -> None:
    """A call begins and never ends: the turn goes on without its outcome when its deadline passes."""
    ask(client)
    await trio.sleep(11)
    await heard(client, "response")


@plot(decisions=(REFUND, LOOK_UP, ANSWER), before=0.1, after=0.05)
async def call_while_a_confirmed_one_waits(lab: Lab, client: RawClient) -> None:
    """What is confirmed during a turn's call runs when the turn has been answered."""
    sid = await offered(client)
    ask(client, "b")
    await trio.sleep(0.15)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "response", 2)
    await heard(client, "action_executed", 2)


@plot(decisions=(LOOK_UP, REFUND), after=0.05)
async def call_then_an_edit(lab: Lab, client: RawClient) -> None:
    """After a call another one is suggested, and confirmed with arguments that are none, and then with others."""
    sid = await offered(client)
    client.send("confirm_action", suggestionId=sid, payload={"order": "B-1"})
    await heard(client, "error")
    client.send("confirm_action", suggestionId=sid, payload={"order": "A-2"})
    client.send("confirm_action", suggestionId=sid, payload={"order": "A-1"})
    await heard(client, "action_executed", 2)


@plot(decisions=(replace(LOOK_UP, requires_approval=True),), before=0.05, after=0.05)
async def call_that_its_model_wants_approved(lab: Lab, client: RawClient) -> None:
    """What its definition lets run at once waits, because the model has asked for that."""
    client.send("confirm_action", suggestionId=await offered(client))
    await heard(client, "action_executed")


@plot(decisions=(REFUND, LOOK_UP, ANSWER), before=0.05, after=0.05)
async def words_in_place_of_a_yes(lab: Lab, client: RawClient) -> None:
    """They are a message, and the call is never made."""
    sid = await offered(client)
    client.send("reject_action", suggestionId=sid, text=ORDERS)
    await heard(client, "response", 2)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed", 2)


@plot(decisions=(REFUND, LOOK_UP, LOOK_UP_ANOTHER, ANSWER), before=0.1, after=0.05)
async def words_during_a_call(lab: Lab, client: RawClient) -> None:
    """They take the place of the turn that waits for it."""
    sid = await offered(client)
    ask(client, "b")
    await trio.sleep(0.15)
    client.send("reject_action", suggestionId=sid, text=ORDERS)
    await heard(client, "response", 2)


@plot(decisions=(LOOK_UP, LOOK_UP_ANOTHER, ANSWER), before=0.1, after=0.1)
async def message_during_a_call(lab: Lab, client: RawClient) -> None:
    """It takes the place of the turn that waits for it, and has a call of its own."""
    ask(client)
    await trio.sleep(0.15)
    ask(client, "b")
    await heard(client, "response")


@plot(decisions=(LOOK_UP, LOOK_UP_ANOTHER, ANSWER), after=2.0)
async def drain_during_a_call(lab: Lab, client: RawClient) -> None:
    """The server goes down: the call is carried out, no other begins, and the turn is answered."""
    ask(client)
    await trio.sleep(1)
    lab.drain()
    await heard(client, "response")
    await trio.sleep(2)


@plot(decisions=(LOOK_UP, ANSWER), before=1.0, after=1.0)
async def client_gone_before_its_call_begins(lab: Lab, client: RawClient) -> None:
    """A client resets the connection while its turn waits."""
    ask(client)
    await trio.sleep(0.5)
    client.reset()
    await trio.sleep(3)


@plot(decisions=(LOOK_UP, LOOK_UP_ANOTHER, ANSWER), after=8.0)
async def client_gone_while_its_call_runs(lab: Lab, client: RawClient) -> None:
    """The call goes on, the turn and the session do not."""
    ask(client)
    await trio.sleep(1)
    client.vanish()
    await trio.sleep(8)
