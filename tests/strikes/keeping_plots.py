"""The scenarios in which something is remembered: ordered, proposed after its turn, contradicted, forgotten."""

import trio

from agent.testing.breakable import DraftScript

from .lab import CONFIRM_TIME, Lab
from .plot import Book, heard
from .raw import RawClient

ORDER = "Remember that my wall is 20 metres long."
ANOTHER = "Remember that my wall is 30 metres long."
STATED = "My fence is 40 metres."
ASKED = "How long is my wall?"
FOUND = "We clip the hedge every spring, it belongs to us."
CITING = (DraftScript("My wall is 20 metres long."),)
MEMORIES = Book()
plot = MEMORIES.plot


async def proposed(client: RawClient, text: str = STATED) -> str:
    """Say what is proposed to be remembered; return the suggestion that comes of it after the turn."""
    client.send("message", id="a", text=text)
    await heard(client, "response")
    return await heard(client, "action_suggestion")


@plot(keeps=True, drafts=CITING)
async def order_to_remember(lab: Lab, client: RawClient) -> None:
    """What is ordered is remembered, and the next answer cites it."""
    client.send("message", id="a", text=ORDER)
    await heard(client, "response")
    client.send("message", id="b", text=ASKED)
    await heard(client, "response", 2)


@plot(keeps=True)
async def proposal_confirmed(lab: Lab, client: RawClient) -> None:
    """An item is suggested after its turn, and confirmed twice."""
    sid = await proposed(client)
    client.send("confirm_action", suggestionId=sid)
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed", 2)


@plot(keeps=True)
async def proposal_declined(lab: Lab, client: RawClient) -> None:
    """An item is suggested after its turn, and not wanted."""
    sid = await proposed(client)
    client.send("reject_action", suggestionId=sid)
    await heard(client, "action_closed")
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed")


@plot(keeps=True)
async def proposal_left(lab: Lab, client: RawClient) -> None:
    """An item is suggested, and nobody answers; meanwhile the client asks something else."""
    await proposed(client)
    client.send("message", id="b", text="price?")
    await heard(client, "response", 2)
    await trio.sleep(CONFIRM_TIME)


@plot(keeps=True)
async def proposal_of_who_has_left(lab: Lab, client: RawClient) -> None:
    """A client leaves while what it said is being kept."""
    client.send("message", id="a", text=STATED)
    await heard(client, "response")
    client.vanish()
    await trio.sleep(1)


@plot(keeps=True)
async def contradiction(lab: Lab, client: RawClient) -> None:
    """What is ordered contradicts what is remembered: it is asked about, and replaces that once it is confirmed."""
    client.send("message", id="a", text=ORDER)
    await heard(client, "response")
    client.send("message", id="b", text=ANOTHER)
    await heard(client, "response", 2)
    client.send("confirm_action", suggestionId=await heard(client, "action_suggestion"))
    await heard(client, "action_executed")


@plot(keeps=True, drafts=CITING)
async def forgotten_while_it_is_cited(lab: Lab, client: RawClient) -> None:
    """An item is forgotten while an answer that cites it is being said, which ends that answer."""
    client.send("message", id="a", text=ORDER)
    await heard(client, "response")
    client.send("message", id="b", text=ASKED)
    await heard(client, "stream", 14)  # of both answers: the second has begun
    await lab.forget()
    await heard(client, "stream_end", 2)
    client.send("message", id="c", text=ASKED)
    await heard(client, "response", 2)


@plot(keeps=True, drafts=CITING)
async def forgotten_elsewhere_while_it_is_cited(lab: Lab, client: RawClient) -> None:
    """An item is forgotten by another process while an answer that cites it is being said, to its end."""
    client.send("message", id="a", text=ORDER)
    await heard(client, "response")
    client.send("message", id="b", text=ASKED)
    await heard(client, "stream", 14)
    await lab.forget(elsewhere=True)
    await heard(client, "response", 2)
    client.send("message", id="c", text=ASKED)
    await heard(client, "response", 3)


@plot(keeps=True, finds=0.5)
async def found_by_a_model(lab: Lab, client: RawClient) -> None:
    """What a memory model finds in what was said is suggested, and confirmed while it reads the next message."""
    sid = await proposed(client, FOUND)
    client.send("message", id="b", text="price?")
    client.send("confirm_action", suggestionId=sid)
    await heard(client, "action_executed")
    await heard(client, "response", 2)
    await trio.sleep(1)


@plot(keeps=True, finds=0.5)
async def forgotten_while_it_is_read(lab: Lab, client: RawClient) -> None:
    """An item is forgotten while a memory model reads the message that it comes from."""
    client.send("message", id="a", text=f"{ORDER} It stands behind the hedge.")
    await heard(client, "response")
    await trio.sleep(0.25)
    await lab.forget()
    await trio.sleep(1)
