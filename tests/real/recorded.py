"""What the small real model says of a few documents, recorded once, so that it can be played where it is not installed.

    python -m tests.real.recorded          asks it anew, and replaces tests/data/smollm/*.jsonl
    python -m tests.real.recorded DIR      the same of every sixth labelled question in DIR (`tests.bench.labelled`),
                                           in tests/data/smollm_documents/*.jsonl, for `tests.bench.documents`

Needed again when what a model is asked has changed: the documents, the search, the instructions, or how evidence is
shown. The documents of DIR are other people's, so of what was asked of them only the question's id is kept; a recording
is found by its name.
"""

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from agent.compose.adapters import Adapters
from agent.models.record import request_digest
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.network import network
from tests.bench import beside
from tests.real import smollm

DATA = Path(__file__).parents[1] / "data" / "smollm"
LABELLED = DATA.with_name("smollm_documents")
EVERY = 6
SEED = 1  # on the same machine, only the answers to prompts that have changed are recorded otherwise
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
    chosen = Adapters(knowledge=KnowledgeBase.build([SourceFile.of("kb/all.md", DOCUMENT)]))
    responses = []
    async with network(settings, chosen) as server, server.connect() as client:
        for question in questions:
            await client.ask(question)
            responses.append((await client.frames_until("response"))[-1])
    return responses


@contextmanager
def recording(folder: Path) -> Iterator[tuple[str, str]]:
    """Run the real model for a block; give what it is named when it is recorded in an emptied folder, and its URL."""
    if not smollm.installed():
        raise SystemExit(smollm.MISSING)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for old in folder.glob("*.jsonl"):
        old.unlink()
    with smollm.running(port, SEED) as url:
        yield f"record:{folder}:openai:{smollm.NAME}", url


def record() -> None:
    """Ask the real model everything, and keep what it says."""
    with recording(DATA) as (model, url):
        for verify in ("whole", "sentence"):  # their redrafts are asked for in other words
            trio.run(asked, settings(model, base_url=url, verify=verify), QUESTIONS)


def record_labelled(folder: Path) -> None:
    """Ask the real model labelled questions, and keep what it says."""
    with recording(LABELLED) as (model, url):
        by_set = trio.run(beside.ask_all, folder, beside.settings(model, url), EVERY)
    for each in (each for of_set in by_set.values() for each in of_set):
        for request in each.requests:
            place = LABELLED / f"{request_digest(request)}.jsonl"
            if place.exists():  # an answer that failed was not kept
                _, *answer = place.read_text("utf-8").splitlines()
                place.write_text("\n".join([json.dumps({"request": each.row.id}), *answer, ""]), "utf-8")
    sys.stdout.write("\n".join(beside.lines(by_set, smollm.NAME)) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record_labelled(Path(sys.argv[1]))
    else:
        record()
