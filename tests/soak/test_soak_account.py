"""A client's account notices every way in which a promise can be broken, and nothing else."""

from pathlib import Path
from typing import Any

import pytest

from agent.soak.account import MOST_STALENESS, Account
from agent.soak.figures import EXAMPLES_MAX, Tally
from agent.soak.notes import digest_of
from agent.soak.pages import Pages, make_texts
from agent.soak.seen_suggestions import SeenSuggestions

CITED_FILES = ("pricing.md", "returns.md")
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


WELCOME = {"type": "welcome", "limits": {"confirmSeconds": 30.0}}
SAID = [stream("299 "), stream("kr"), end("done"), response("299 kr")]
SUGGESTED = [*SAID, suggestion()]
Step = dict[str, Any] | tuple[str, ...]


def judge(
    *steps: Step, settled: bool = True, notes: list[str] | None = None, pages: Pages | None = None
) -> tuple[Account, Tally]:
    """Play a connection, one step a second: frames that come, and in tuples what the client does."""
    tally = Tally()
    noted: list[str] = [] if notes is None else notes
    account = Account(
        "user", tally, lambda event, id, digest="", tool="": noted.append(f"{event} {id}"), pages
    )
    account.enter_message("1", 0.0)
    for at, step in enumerate(steps, 1):
        if isinstance(step, dict):
            account.check_frame(step, float(at))
        elif step[0] == "ask":
            account.enter_message(step[1], float(at))
        elif step[0] == "cancel":
            account.enter_cancel(float(at), *step[1:])
        elif step[0] == "confirm":
            account.suggestions.enter_confirm(step[1], float(at))
        else:
            account.suggestions.enter_reject(step[1])
    if settled:
        account.check_settled()
    return account, tally


@pytest.mark.parametrize(
    "steps",
    [
        SAID,
        [WELCOME, *SAID],
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
    assert not account.is_waiting
    assert not account.suggestions.list_live()


@pytest.mark.parametrize(
    ("invariant", "steps"),
    [
        ("S1", []),
        ("S1", [*SAID, end("done"), response("299 kr")]),
        ("S1", [stream("299 kr"), end("done")]),
        ("S1", [stream("299 kr"), end("done"), stream("x"), response("299 kr")]),
        ("S1", [end("cancelled"), response("299 kr")]),
        ("S1", [*SAID, stream("more")]),
        ("S1", [suggestion(), *SAID, closed()]),
        ("S1", [*SAID, error("busy", id="1")]),
        ("S2", [("cancel",), end("cancelled"), stream("late")]),
        ("S3", [stream("299 "), end("done"), response("299 kr")]),
        ("S3", [stream("298 kr"), end("done"), response("298 kr")]),
        ("T1", [*SUGGESTED, executed(success=True, data={})]),
        ("S5", [*SUGGESTED, ("confirm", "s"), executed(ignored=True)]),
        ("S5", [*SUGGESTED, ("confirm", "s"), executed(success=True, data={}), executed(ignored=True)]),
        ("S5", SUGGESTED),
        ("S5", [*SUGGESTED, closed(), suggestion()]),
        ("S5", [*SUGGESTED, closed(), closed()]),
        ("S5", [*SUGGESTED, ("confirm", "s")]),
        ("S5", [*SUGGESTED, ("confirm", "s"), closed(), executed(success=True, data={})]),
        ("S5", [*SUGGESTED, ("confirm", "s"), executed(expired=True)]),
        ("S5", [*SAID, ("confirm", "guess")]),
        ("S7", [*SAID, WELCOME]),
        ("S7", [*SAID, {"type": "gossip"}]),
        ("S7", [*SAID, stream("not mine", "2")]),
        ("S7", [*SAID, response("not mine", "2")]),
        ("S7", [*SAID, end("done", "2")]),
        ("S7", [*SAID, closed()]),
        ("S7", [*SAID, executed(success=True, data={})]),
        ("S7", [*SAID, error("internal", id="1")]),
        ("S7", [*SAID, error("unknown_suggestion")]),
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
    assert (tally.cancels.count, tally.cancels.longest) == (1, 2.0)
    assert tally.counts["cancels"] == 2


def test_only_the_first_examples_are_kept() -> None:
    """A soak that goes wrong does not fill the memory with words about it."""
    _, tally = judge(*SAID, *[stream("late")] * 50)
    assert tally.broken["S1"] == 50
    assert len(tally.examples) == EXAMPLES_MAX


@pytest.mark.parametrize(
    ("steps", "noted"),
    [
        ([*SUGGESTED, ("confirm", "s"), executed(success=True, data={})], ["confirmed s", "done s"]),
        ([*SUGGESTED, ("confirm", "s"), executed(success=False, error="")], ["confirmed s", "failed s"]),
        (
            [*SUGGESTED, ("confirm", "s"), executed(success=False, unknown=True, error="")],
            ["confirmed s", "unknown s"],
        ),
        ([*SUGGESTED, ("confirm", "s"), executed(cancelled=True)], ["confirmed s", "cancelled s"]),
        ([*SUGGESTED, ("confirm", "s"), closed(), executed(cancelled=True)], ["confirmed s", "closed s"]),
        ([*SUGGESTED, ("reject", "s"), ("reject", "s"), closed(), closed()], ["closed s"]),
        ([*SAID, ("confirm", "guess"), error("unknown_suggestion")], []),
    ],
)
def test_what_becomes_of_a_suggestion_is_noted_once(steps: list[Step], noted: list[str]) -> None:
    """Each confirm, and the end that the client was told of."""
    notes: list[str] = []
    judge(*steps, notes=notes)
    assert notes == noted


def test_a_confirm_is_noted_with_its_action() -> None:
    """A server without a file cannot tell it when all is over."""
    notes: list[tuple[str, ...]] = []

    def note(event: str, id: str, digest: str = "", tool: str = "") -> None:
        notes.append((event, id, digest, tool))

    seen = SeenSuggestions("user", Tally(), note, None)
    seen.check_suggested({"suggestionId": "s", "action": "remember", "payload": {"text": "x", "item": "i"}})
    seen.enter_confirm("s", 0.0)
    assert notes == [("confirmed", "s", digest_of({"text": "x", "item": "i"}), "remember")]


@pytest.mark.parametrize(
    ("promise", "steps"),
    [
        (None, [*SUGGESTED, closed()]),
        (None, [*SUGGESTED, ("confirm", "s"), executed(success=True, data={})]),
        (None, [error("shutting_down", id="1")]),
        (None, [*SUGGESTED, ("confirm", "s"), error("shutting_down", suggestionId="s"), closed()]),
        (None, [*SAID, ("ask", "2")]),  # it crossed the close
        (None, [*SUGGESTED, ("confirm", "s")]),
        ("S1", [stream("299 ")]),
        ("S1", [stream("299 kr"), end("done")]),
        ("S5", SUGGESTED),
        ("S5", [*SUGGESTED, ("confirm", "s"), closed(), ("ask", "2"), ("ask", "3")]),
    ],
)
def test_a_server_that_goes_down_owes_nothing(promise: str | None, steps: list[Step]) -> None:
    """All that was asked a second before it hung up has ended; what was sent after may have crossed the close."""
    account, tally = judge(*steps, settled=False)
    account.check_cut_off(float(max(1, len(steps) - 1)))
    assert list(tally.broken) == ([] if promise is None else [promise]), tally.examples


def test_a_number_may_stand_in_a_heading_that_is_shown() -> None:
    """And in no other."""
    for heading, broken in (({"heading": "Prices › 349 kr"}, {}), ({}, {"S3": 1})):
        cited = [{"file": "kb/a.md", "snippet": "299 kr", "lines": [1, 1], **heading}]
        _, tally = judge(stream("349 kr"), end("done"), response("349 kr") | {"citations": cited})
        assert tally.broken == broken


def test_answers_are_of_one_state_of_the_knowledge_base(tmp_path: Path) -> None:
    """Of the one before or after a change, not long before, and never of two at once."""
    clock = [0.0]
    pages = Pages(tmp_path, lambda: clock[0])
    for _ in range(3):
        clock[0] += 1
        pages.rewrite()

    def citations(*generations: int) -> list[dict[str, str]]:
        return [
            {"file": f"kb/{name}", "snippet": make_texts(generation)[name]}
            for generation, name in zip(generations, CITED_FILES, strict=False)
        ]

    tally = Tally()
    account = Account("user", tally, pages=pages)

    def answered(asked_at: float, cited: list[dict[str, str]]) -> float | None:
        account.enter_message("1", asked_at)
        for frame in (stream("Yes."), end("done"), {**response("Yes."), "citations": cited}):
            account.check_frame(frame, asked_at + 1)
        return account.messages["1"].staleness

    assert (answered(3.0, citations(3, 3)), tally.broken) == (0.0, {})
    assert (answered(3.5, citations(2, 2)), tally.broken) == (0.5, {})
    assert (answered(3.5, []), tally.broken) == (None, {})
    assert (tally.behind.count, tally.behind.longest) == (2, 0.5)
    assert answered(4.0 + MOST_STALENESS, citations(2, 2)) == 1.0 + MOST_STALENESS
    assert tally.broken == {"S8": 1}
    assert answered(4.0, [*citations(3), {"file": "kb/contact.md", "snippet": "never"}]) is None
    assert tally.broken == {"S8": 2}
