"""A memory model that is served, over real sockets: what it finds is asked about, and nothing else of it is heard."""

import json
from typing import Any

import pytest
import trio

from agent.compose.adapters import Adapters
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.network import network
from tests.strikes.upstream import Upstream, after, refused, upstream

from .test_served_model import DOCUMENT, SOON, says

SAID = "These days I go to the office by train, it takes me about 40 minutes"
NOTED = {"type": "fact", "about": "commute", "text": "The user commutes by train", "quote": "by train"}
LIE = {**NOTED, "text": "The user commutes by train for 55 minutes"}


def noted(kind: str, *items: dict[str, Any]) -> Any:
    return says(kind, json.dumps({"items": items}))


def settings(kind: str, service: Upstream, **more: Any) -> Settings:
    return Settings.of(
        memory="on", memory_model=f"{kind}:x", memory_base_url=f"{service.url}/v1", pace_ms=0, **more
    )


def chosen() -> Adapters:
    return Adapters(knowledge=KnowledgeBase.build([SourceFile.of("kb/a.md", DOCUMENT)]))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_what_it_finds_is_asked_about(kind: str) -> None:
    """After the answer, in its words; a yes makes it true. What it made up of numbers nobody hears."""
    async with upstream(noted(kind, LIE, NOTED)) as service:
        async with network(settings(kind, service), chosen()) as server, server.connect() as client:
            with trio.fail_after(20):
                await client.ask(SAID)
                frames = await client.frames_until("action_suggestion")
                suggestion = frames[-1]
                await client.confirm(suggestion["suggestionId"])
                frames += await client.frames_until("action_executed")
                await client.send({"type": "memory_list"})
                frames += await client.frames_until("memory")
        assert len(service.requests) == 1
    assert suggestion["action"] == "remember"
    assert suggestion["payload"]["text"] == NOTED["text"]
    assert [(each["text"], each["status"]) for each in frames[-1]["items"]] == [(NOTED["text"], "accepted")]
    assert "55 minutes" not in json.dumps(frames)
    assert [each["type"] for each in frames].index("response") < frames.index(suggestion)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_its_faults_disturb_nobody(kind: str) -> None:
    """Refused, cut, or no list at all: turns are answered, and it is asked again."""
    good = noted(kind, NOTED)
    async with upstream(refused(400), after(good, 2, "reset"), says(kind, "no list"), good) as service:
        async with network(settings(kind, service), chosen()) as server, server.connect() as client:
            with trio.fail_after(20):
                await client.ask(SAID)
                await client.frames_until("response")
                await client.ask("What does the Standard plan cost?")
                frames = await client.frames_until("action_suggestion")
        assert len(service.requests) >= 4
    assert "299" in next(each["text"] for each in frames if each["type"] == "response")


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_an_end_closes_what_is_read(kind: str) -> None:
    """Within 100 ms, on a busy machine `SOON`; and of a turn that was cancelled nothing is read at all."""
    hangs = after(noted(kind, NOTED), 2, "hang")
    async with upstream(hangs) as service:
        async with network(settings(kind, service), chosen()) as server, server.connect() as client:
            with trio.fail_after(20):
                await client.ask("What does the Standard plan cost? It takes me 40 minutes")
                await client.cancel()
                await client.frames_until("stream_end")
                await client.ask(SAID)
                await client.frames_until("response")
                await service.until(lambda: len(service.requests) == 1)
            began = trio.current_time()
            server.app.stop()
            await service.until(lambda: len(service.closed) == 1)
            assert service.closed[0] - began < SOON
        assert SAID in json.dumps(service.requests[0].body)
