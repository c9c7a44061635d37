"""The scenarios in which a client asks what is remembered, and what must hold of them."""

from agent.protocol.inbound import MemoryForget, MemoryList, Recall
from agent.session.consult_queue import CONSULTS_WAITING

from .lab import Entry, Lab, is_received
from .plot import Book, heard
from .raw import RawClient, is_close

MEMORY = Book()
plot = MEMORY.plot
_ANSWERS = ("memory", "memory_changed", "recalled")


@plot(remembers=0.03)
async def memory_asked_in_a_turn(lab: Lab, client: RawClient) -> None:
    """A list, a forget and a search, one behind the other, while a question is answered."""
    client.send("message", id="a", text="price?")
    client.send("memory_list", id="q1")
    client.send("memory_forget", id="q2", item="i1")
    client.send("recall", id="q3", query="budget?")
    await heard(client, "recalled")
    await heard(client, "response")


def answers(transcript: list[Entry], parting: float, patient: float) -> list[tuple[str, str]]:
    """M7: what is asked of what is remembered is answered once and in its order, unless the connection ends before.

    parting: when that began to end. patient: seconds in which everything has its end.
    """
    asked = [
        (str(entry.what.id), entry.at)
        for entry in transcript
        if any(is_received(entry, kind) for kind in (MemoryList, MemoryForget, Recall))
    ]
    assert len(asked) <= CONSULTS_WAITING, "none of them is refused"
    closed = [entry.at for entry in transcript if entry.who == "<-" and is_close(entry.what)]
    parting = min([parting, *closed])
    labels = [label for label, _ in asked]
    told = [
        entry.what["id"]
        for entry in transcript
        if entry.who == "<-" and isinstance(entry.what, dict) and _answers(entry.what, labels)
    ]
    found = [] if told == labels[: len(told)] else [("M7", f"asked {labels}, answered {told}")]
    return found + [
        ("M7", f"{label} has no answer")
        for label, at in asked
        if label not in told and parting - at >= patient
    ]


def _answers(frame: dict[str, object], labels: list[str]) -> bool:
    return frame["type"] in _ANSWERS or (frame["type"] == "error" and frame.get("id") in labels)


def remains(lab: Lab) -> list[tuple[str, str]]:
    """S6, M2: nothing is asked any more, and what was to be forgotten is so whole or not at all."""
    if lab.memory is None:
        return []
    found = [("S6", "what is remembered is still asked")] if lab.memory.busy else []
    kept = [(each.status, each.text != "") for each in lab.memory.kept]
    return found + [("M2", f"half forgotten: {kept}")] * (
        kept not in ([("accepted", True)], [("forgotten", False)])
    )
