"""The fuzzing of frames and request heads, at length with FUZZ_INPUTS, and that it can find something."""

import os

import pytest

from agent.errors import BadFrame
from agent.protocol import inbound
from agent.server.request_head import Head, Refusal

from . import fuzz
from .corpus import CANARY

INPUTS = int(os.environ.get("FUZZ_INPUTS", "50000"))


@pytest.mark.proof
def test_no_mutated_frame_or_head_gets_anything_but_a_typed_answer() -> None:
    """Of many mutated inputs none raises what it must not, and none is repeated to its client."""
    findings, outcomes = fuzz.fuzz(INPUTS, seed=2)
    assert [str(each) for each in findings] == []
    assert sum(outcomes.values()) == INPUTS


@pytest.mark.proof
def test_every_outcome_is_reached() -> None:
    """The inputs are no noise: messages, requests and upgrades come through, and many a sentence is heard."""
    _, outcomes = fuzz.fuzz(3000, seed=3)
    come_through = {"Message", "Cancel", "ConfirmAction", "RejectAction"}
    assert {f"frame: {each}" for each in come_through} | {"head: upgrade", "head: request"} <= set(outcomes)
    assert len(outcomes) >= 20


def leaks(frame: str | bytes) -> inbound.Inbound:
    """Quote the frame."""
    raise BadFrame("bad_json", f"What is {frame!r}?")


def drags_along(frame: str | bytes) -> inbound.Inbound:
    """Keep the error that quotes it."""
    try:
        raise ValueError(frame)
    except ValueError as error:
        raise BadFrame("bad_json", "No.") from error


def breaks(frame: str | bytes) -> inbound.Inbound:
    """Raise what is no BadFrame, for some."""
    if "[" in str(frame):
        raise RecursionError
    return inbound.Cancel()


def lets_through(frame: str | bytes) -> inbound.Inbound:
    """Take a message that has no id."""
    return inbound.Message("", "x")


@pytest.mark.parametrize("decoder", [leaks, drags_along, breaks, lets_through])
def test_a_bad_decoder_is_found(decoder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to be wrong about a frame is a finding, and its input can be sent again alone."""
    monkeypatch.setattr(fuzz, "decode", decoder)
    findings, _ = fuzz.fuzz(400, seed=1)
    assert {each.target for each in findings} - {"all"} == {"frame"}
    number = int(findings[0].what.rpartition(" ")[2].rstrip(")"))
    repeated = fuzz.again(1, number)
    assert repeated is not None
    assert repeated.data == findings[0].data


async def quotes(_: object) -> Head | Refusal | None:
    """Quote what the client sent."""
    return Refusal(400, f"What is {CANARY}?")


async def raises(_: object) -> Head | Refusal | None:
    """Break."""
    raise ValueError


async def smuggles(_: object) -> Head | Refusal | None:
    """Let a second request through."""
    return Head(
        method=b"GET", target=b"/\r\n\r\nGET", version=b"1.1", headers=((b"host", b"a"),), raw=b"", rest=b""
    )


@pytest.mark.parametrize("reader", [quotes, raises, smuggles])
def test_a_bad_sniffer_is_found(reader: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to be wrong about a head is a finding."""
    monkeypatch.setattr(fuzz, "read_head", reader)
    findings, _ = fuzz.fuzz(20, seed=1)
    assert {each.target for each in findings} == {"head"}


def test_the_command_prints_its_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how many inputs there were and how fast, repeats one, and fails on a finding."""
    assert fuzz.main(["--inputs", "200"]) == 0
    assert "200 inputs, seed 1: 0 findings" in capsys.readouterr().out
    assert fuzz.main(["--at", "7"]) == 0
    assert capsys.readouterr().out == "nothing found\n"
    monkeypatch.setattr(fuzz, "decode", leaks)
    assert fuzz.main(["--inputs", "200"]) == 1
