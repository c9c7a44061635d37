"""A whole server with a served language model behind it, over real sockets: answers, refusals, faults, cancels."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from agent.client.client import Client
from agent.compose.adapters import Adapters
from agent.ports.model import Finish, TextDelta
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.settings import Settings
from agent.testing.network import network
from tests.strikes.spoken import SHAPES
from tests.strikes.upstream import Reply, Upstream, after, cut_inside, refused, reply, slow, upstream

from ..examples import sample
from .independent import shown, unsupported

DOCUMENT = "# Plans\n\nThe Standard plan costs 299 kr a month.\n"
ASKED = "What does the Standard plan cost?"
SOON = 20.0  # seconds for what takes hundredths of one; a reply that hangs is never closed by its service
TRUE, FALSE = "It is 299 kr a month. It is good.", "It is 349 kr a month."


def says(kind: str, text: str) -> Reply:
    """Return a service's reply that says a text, a word an event."""
    pieces = [TextDelta(f"{word} ") for word in text.split(" ")]
    return reply(SHAPES[kind]([*pieces, Finish("stop")]))


@asynccontextmanager
async def served(
    kind: str, replies: Sequence[Reply], **more: Any
) -> AsyncGenerator[tuple[Client, Upstream], None]:
    """Give a client of a server that asks this service."""
    chosen = Adapters(knowledge=KnowledgeBase.build([SourceFile.of("kb/a.md", DOCUMENT)]))
    async with upstream(*replies) as service:
        settings = Settings.of(model=f"{kind}:x", base_url=f"{service.url}/v1", pace_ms=0, **more)
        async with network(settings, chosen) as server, server.connect() as client:
            yield client, service


async def asked(client: Client, question: str = ASKED) -> dict[str, Any]:
    """Ask; return the response."""
    await client.ask(question)
    with trio.fail_after(20):
        return (await client.frames_until("response"))[-1]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("verify", sample(["whole", "sentence"], 2))
async def test_it_answers_and_what_it_makes_up_is_refused(kind: str, verify: str) -> None:
    """A true draft is said; a false one is drafted again, and refused when that is false too."""
    replies = [says(kind, each) for each in (TRUE, FALSE, TRUE, FALSE, FALSE)]
    async with served(kind, replies, verify=verify) as (client, service):
        answered, mended, lied = [await asked(client) for _ in range(3)]
    assert [each.get("blocked", {}).get("code") for each in (answered, mended, lied)] == [
        None,
        None,
        "number_mismatch",
    ]
    for each in (answered, mended, lied):
        assert unsupported(each["text"], shown(each["citations"])) == []
    assert len(service.requests) == 5
    told = service.requests[-1].body["messages"][-1]["content"]
    assert "349" not in str(told).split("Your last answer")[-1]


@pytest.mark.parametrize("kind", sample(["openai", "anthropic"], 2))
@pytest.mark.parametrize(
    "fault",
    [
        lambda good: refused(401),
        lambda good: refused(400),
        cut_inside,
        lambda good: after(good, 3, "reset"),
        lambda good: Reply((b"data: SECRET\\n\\n",)),
    ],
    ids=["no key", "a bad request", "cut", "reset", "garbage"],
)
async def test_its_faults_are_refusals(kind: str, fault: Any) -> None:
    """One sentence for people, nothing of what it said; the next question is answered."""
    good = says(kind, TRUE)
    async with served(kind, [fault(good), good]) as (client, _):
        failed, answered = await asked(client), await asked(client)
    assert failed["blocked"]["code"] == "model_failed"
    assert "299" not in failed["text"]
    assert "SECRET" not in str(failed)
    assert "blocked" not in answered


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("parts", [0, 1, 4])
async def test_a_cancel_reaches_it(kind: str, parts: int) -> None:
    """Within 100 ms, on a busy machine `SOON`, the service's connection is closed; its client is told, and asks on."""
    good = says(kind, TRUE)
    async with served(kind, [after(good, parts, "hang"), good]) as (client, service):
        await client.ask(ASKED)
        with trio.fail_after(60):
            await service.until(lambda: bool(service.requests))
            await trio.sleep(0.3)
            began = trio.current_time()
            await client.cancel()
            assert (await client.frames_until("stream_end"))[-1]["reason"] == "cancelled"
            await service.until(lambda: bool(service.closed))
        assert service.closed[0] - began < SOON
        assert "blocked" not in await asked(client)


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_new_question_ends_the_old_one_there_too(kind: str) -> None:
    """The service hears no more of it than its client does."""
    good = says(kind, TRUE)
    async with served(kind, [slow(good, 0.5), good]) as (client, service):
        await client.ask(ASKED, id="old")
        with trio.fail_after(60):
            await service.until(lambda: bool(service.requests))
            await client.ask(ASKED, id="new")
            frames = await client.frames_until("response")
        assert frames[-1]["id"] == "new"
        assert "blocked" not in frames[-1]
        assert service.closed  # of a reply that would go on for seconds
