"""A client's account notices every way in which a promise can be broken, and nothing else."""

from typing import Any

import pytest

from agent.soak.account import Account, Tally

CITED = [{"file": "kb/a.md", "snippet": "It costs 0299 kr in 14 days."}]


def stream(delta: str, id: str = "1") -> dict[str, Any]:
    """Build a delta."""
    return {"type": "stream", "delta": delta, "id": id}


def end(reason: str, id: str = "1") -> dict[str, Any]:
    """Build an end."""
    return {"type": "stream_end", "reason": reason, "id": id}


def response(text: str, id: str = "1") -> dict[str, Any]:
    """Build a response with one citation."""
    return {"type": "response", "text": text, "citations": CITED, "id": id}


def suggestion(sid: str = "s", id: str = "1") -> dict[str, Any]:
    """Build a suggestion."""
    return {"type": "action_suggestion", "suggestionId": sid, "action": "send_sms", "payload": {}, "id": id}


def closed(reason: str = "cancelled", sid: str = "s") -> dict[str, Any]:
    """Build a suggestion's end."""
    return {"type": "action_closed", "suggestionId": sid, "reason": reason}


def executed(sid: str = "s", **result: Any) -> dict[str, Any]:
    """Build the answer to a confirm."""
    return {"type": "action_executed", "suggestionId": sid, "result": result}


def error(code: str, **more: str) -> dict[str, Any]:
    """Build an error."""
    return {"type": "error", "code": code, "message": "No.", **more}


SAID = [stream("299 "), stream("kr"), end("done"), response("299 kr")]
SUGGESTED = [*SAID, suggestion()]
Step = dict[str, Any] | tuple[str, ...]


def judge(*steps: Step, settled: bool = True) -> tuple[Account, Tally]:
    """Play a connection: frames that come, and in tuples what the client does."""
    tally = Tally()
    account = Account("user", tally)
    account.asked("1", 0.0)
    for at, step in enumerate(steps, 1):
        if isinstance(step, dict):
            account.came(step, float(at))
        elif step[0] == "ask":
            account.asked(step[1], float(at))
        elif step[0] == "cancel":
            account.cancelled(float(at), *step[1:])
        elif step[0] == "confirm":
            account.confirmed(step[1])
        else:
            account.rejected(step[1])
    if settled:
        account.settled()
    return account, tally


@pytest.mark.parametrize(
    "steps",
    [
        SAID,
        [{"type": "welcome"}, *SAID],
        [stream("299 "), ("cancel",), stream("kr"), end("cancelled")],
        [("cancel",), *SAID],
        [*SUGGESTED, closed("expired")],
        [*SUGGESTED, ("confirm", "s"), executed(success=True, data={})],
        [
            *SUGGESTED,
            ("confirm", "s"),
            ("confirm", "s"),
            executed(ignored=True),
            executed(success=False, error=""),
        ],
        [*SUGGESTED, ("confirm", "s"), ("cancel",), executed(cancelled=True)],
        [*SUGGESTED, ("confirm", "s"), closed(), executed(cancelled=True)],
        [*SUGGESTED, ("confirm", "s"), closed("expired"), executed(expired=True)],
        [*SUGGESTED, ("reject", "s"), ("reject", "s"), closed("rejected"), closed("rejected")],
        [
            *SUGGESTED,
            ("confirm", "s"),
            ("reject", "s"),
            executed(success=True, data={}),
            executed(ignored=True),
        ],
        [*SAID, ("confirm", "guess"), error("unknown_suggestion")],
        [error("rate_limited", id="1")],
        [error("busy", id="1")],
    ],
)
def test_what_is_right_is_not_noted(steps: list[Step]) -> None:
    """Every order of frames that the protocol allows passes, and nothing is left waiting."""
    account, tally = judge(*steps)
    assert (tally.broken, tally.examples) == ({}, [])
    assert not account.waiting
    assert not account.live()


@pytest.mark.parametrize(
    ("invariant", "steps"),
    [
        ("I1", []),
        ("I1", [*SAID, end("done"), response("299 kr")]),
        ("I1", [stream("299 kr"), end("done")]),
        ("I1", [stream("299 kr"), end("done"), stream("x"), response("299 kr")]),
        ("I1", [end("cancelled"), response("299 kr")]),
        ("I1", [*SAID, stream("more")]),
        ("I1", [suggestion(), *SAID, closed()]),
        ("I1", [*SAID, error("busy", id="1")]),
        ("I2", [("cancel",), end("cancelled"), stream("late")]),
        ("I3", [stream("299 "), end("done"), response("299 kr")]),
        ("I3", [stream("298 kr"), end("done"), response("298 kr")]),
        ("I4", [*SUGGESTED, executed(success=True, data={})]),
        ("I4", [*SUGGESTED, ("confirm", "s"), executed(ignored=True)]),
        ("I4", [*SUGGESTED, ("confirm", "s"), executed(success=True, data={}), executed(ignored=True)]),
        ("I5", SUGGESTED),
        ("I5", [*SUGGESTED, closed(), suggestion()]),
        ("I5", [*SUGGESTED, closed(), closed()]),
        ("I5", [*SUGGESTED, ("confirm", "s")]),
        ("I5", [*SUGGESTED, ("confirm", "s"), closed(), executed(success=True, data={})]),
        ("I5", [*SUGGESTED, ("confirm", "s"), executed(expired=True)]),
        ("I5", [*SAID, ("confirm", "guess")]),
        ("I7", [*SAID, {"type": "welcome"}]),
        ("I7", [*SAID, {"type": "gossip"}]),
        ("I7", [*SAID, stream("not mine", "2")]),
        ("I7", [*SAID, response("not mine", "2")]),
        ("I7", [*SAID, end("done", "2")]),
        ("I7", [*SAID, closed()]),
        ("I7", [*SAID, executed(success=True, data={})]),
        ("I7", [*SAID, error("internal", id="1")]),
        ("I7", [*SAID, error("unknown_suggestion")]),
    ],
)
def test_what_is_broken_is_noted(invariant: str, steps: list[Step]) -> None:
    """Each broken promise is counted under the invariant it breaks, with words for it."""
    _, tally = judge(*steps)
    assert invariant in tally.broken
    assert any(example.startswith(f"{invariant}: user: ") for example in tally.examples)


def test_cancels_are_timed() -> None:
    """From sending the cancel, of that message or of everything, to its stream_end; a pre-emption is not."""
    _, tally = judge(
        ("ask", "2"),
        end("cancelled"),
        ("cancel",),
        ("cancel", "2"),
        end("cancelled", "2"),
        settled=False,
    )
    assert tally.cancel_seconds == [2.0]
    assert tally.counts["cancels"] == 2


def test_only_the_first_examples_are_kept() -> None:
    """A soak that goes wrong does not fill the memory with words about it."""
    _, tally = judge(*SAID, *[stream("late")] * 50)
    assert tally.broken["I1"] == 50
    assert len(tally.examples) == 20
