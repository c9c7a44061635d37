"""A client's account notices every way in which a promise about speech can be broken, and nothing else."""

from typing import Any

import pytest

from agent.soak.account import Account
from agent.soak.figures import Tally
from agent.soak.wire import AUDIO
from tests.soak.test_soak_account import SAID, end, error


def speech(seq: int, end: int = 6, id: str = "1", start: int = 0) -> dict[str, Any]:
    """Build the frame before the audio of a sentence."""
    return {"type": "speech", "id": id, "seq": seq, "from": start, "to": end}


def stop(reason: str = "done", id: str = "1") -> dict[str, Any]:
    """Build the end of a speech."""
    return {"type": "speech_end", "id": id, "reason": reason}


def heard(text: str, id: str = "h", **more: bool) -> dict[str, Any]:
    """Build the words of an utterance."""
    return {"type": "heard", "id": id, "text": text, **more}


def judge(*frames: dict[str, Any], talks: bool = False) -> tuple[dict[str, int], bool]:
    """Play the frames of a server; return the broken promises, and whether the client had to wait for more.

    `talks`: sound was sent before.
    """
    tally = Tally()
    account = Account("user", tally)
    account.enter_message("1", 0.0)
    account.speeches.is_heard_due = talks
    for frame in frames:
        account.check_frame(frame, 1.0)
    waits = account.is_waiting
    account.check_settled()
    return tally.broken, waits


@pytest.mark.parametrize(
    "frames",
    [
        [*SAID, speech(1), AUDIO, stop()],
        [speech(1), AUDIO, *SAID, AUDIO, stop()],
        [speech(1, 3), AUDIO, speech(2, 6, start=3), AUDIO, *SAID, stop("cancelled")],
        [*SAID, stop("cancelled")],
        [*SAID, speech(1), AUDIO, stop(), speech(2), AUDIO, stop("cancelled")],
    ],
)
def test_speech_that_is_right_is_not_noted(frames: list[dict[str, Any]]) -> None:
    """Text and speech come in any order; a suggestion is read back after the end."""
    assert judge(*frames) == ({}, False)


@pytest.mark.parametrize(
    ("promises", "frames"),
    [
        ("V1", [*SAID, speech(1), stop("cancelled"), AUDIO]),
        ("V1", [*SAID, AUDIO]),
        ("V1 V2", [*SAID, stop("cancelled"), speech(1), stop()]),
        ("V2", [*SAID, stop("cancelled"), stop("cancelled")]),
        ("V2", [*SAID, speech(1), stop(id="2"), speech(2), stop()]),
        ("V2", [*SAID, speech(2), stop()]),
        ("V2", [*SAID, speech(1, 7), stop()]),
        ("V2", [speech(1, 7), stop(), *SAID]),
        ("V2", [*SAID, speech(1, 2, start=3), stop()]),
        ("V2", [*SAID, speech(1), speech(2, id="2"), stop(id="2")]),
        ("V2", [*SAID, speech(1), AUDIO]),
        ("S7", [*SAID, speech(1), stop("failed")]),
    ],
)
def test_a_broken_promise_of_speech_is_noted(promises: str, frames: list[dict[str, Any]]) -> None:
    """At the frame that breaks it, or when the client believes that all is said."""
    broken, _ = judge(*frames)
    assert " ".join(sorted(broken)) == promises


def test_an_utterance_has_a_final() -> None:
    """A final with words is a message, which has an end; audio that is refused has none."""
    assert judge(*SAID, heard("What"), heard("", final=True), talks=True) == ({}, False)
    assert judge(*SAID, heard("What is it?", final=True), end("cancelled", "h"), talks=True) == ({}, False)
    assert judge(*SAID, error("busy"), talks=True) == ({}, False)
    assert judge(*SAID, heard("What?", final=True), talks=True) == ({"S1": 1}, True)
    assert judge(*SAID, heard("What"), talks=True) == ({"V2": 1}, True)
