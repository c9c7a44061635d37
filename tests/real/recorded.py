"""What the small real model says of a few documents, recorded once, so that it can be played where it is not installed.

    python -m tests.real.recorded      asks it anew, and replaces tests/data/smollm/*.jsonl

Needed again when what a model is asked has changed: the documents here, the instructions, or how evidence is shown.
"""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from agent.compose import Adapters
from agent.retrieval.load import Source
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing import smollm
from agent.testing.network import network

DATA = Path(__file__).parents[1] / "data" / "smollm"
DOCUMENT = """\
# Plans

| Plan | Price per month | Devices |
| --- | --- | --- |
| Basic | 149 kr | up to 10 |
| Standard | 299 kr | up to 30 |
| Premium | 599 kr | up to 100 |

The Standard plan costs 3,229.20 kr when you pay for a whole year.

# Returns

You can return an unopened product within 14 days of delivery. A return costs 49 kr.

# Opening hours

The phone is open on weekdays between 09:00 and 17:00. The chat is open every day between 06:30 and 23:30.
"""
QUESTIONS = (
    "What does the Standard plan cost per month?",
    "What does the Premium plan cost per month?",
    "What does the Basic plan cost?",
    "What does the Standard plan cost when I pay for a whole year?",
    "How many devices may the Standard plan have?",
    "How many devices may the Premium plan have?",
    "Which plan is the cheapest per month?",
    "Within how many days of delivery can I return an unopened product?",
    "What does a return cost?",
    "Can I return a product after 20 days?",
    "When is the phone open on weekdays?",
    "When is the chat open?",
    "Is the phone open at 18:00?",
    "What does the Standard plan cost for two years?",
    "Is the Premium plan 500 kr per month?",
    "How much more is Premium than Standard per month?",
    "List all plans with their prices per month.",
    "What do I pay for the Basic plan per year?",
    "How long is the phone open on a weekday?",
    "When is the phone open on Saturdays?",
    "Tell me all about returns.",
    "Is a return free?",
)


def settings(model: str, **more: Any) -> Settings:
    """Return a server of the documents here. Each question is asked by itself, so that none depends on another."""
    return Settings.of(
        model=model,
        evidence_tokens=200,
        history_tokens=0,
        answer_tokens=60,
        turn_timeout=300.0,
        first_token_timeout=300.0,
        token_timeout=300.0,
        vectors="off",
        pace_ms=0,
        **more,
    )


async def asked(settings: Settings, questions: Sequence[str]) -> list[dict[str, Any]]:
    """Ask a server of ours, in memory; return the responses."""
    chosen = Adapters(knowledge=KnowledgeBase.build([Source.of("kb/all.md", DOCUMENT)]))
    responses = []
    async with network(settings, chosen) as server, server.connect() as client:
        for question in questions:
            await client.ask(question)
            responses.append((await client.frames_until("response"))[-1])
    return responses


def record() -> None:
    """Ask the real model everything, and keep what it says."""
    if not smollm.installed():
        raise SystemExit(smollm.MISSING)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for old in DATA.glob("*.jsonl"):
        old.unlink()
    with smollm.running(port) as url:
        model = f"record:{DATA}:openai:{smollm.NAME}"
        trio.run(asked, settings(model, base_url=url), QUESTIONS)


if __name__ == "__main__":
    record()
