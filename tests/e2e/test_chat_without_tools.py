"""A thread of a server with a language model and no tools: its model may still propose to remember."""

import json

import trio

from agent.ports.model import Finish, TextDelta
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.network import network
from tests.e2e.test_failing_model import read_path
from tests.strikes.spoken import SHAPES
from tests.strikes.upstream import reply, upstream

DOCUMENTS = (SourceFile("kb/a.md", b"# Prices\n\nA return of a parcel costs 59 kr.\n"),)
PROPOSED = {
    "mode": "ACT",
    "tool": "memory.propose_add",
    "args": {"type": "fact", "subject": "parcel", "text": "My parcel weighs 8 kg."},
}
ANSWERED = {"mode": "NOOP", "message": "A return of a parcel costs 59 kr."}


async def test_the_model_of_a_thread_decides_without_tools() -> None:
    """It proposes what the message says, then answers; the words are verified as every answer is."""
    said = [
        reply(SHAPES["openai"]((TextDelta(json.dumps(each)), Finish("stop"))))
        for each in (PROPOSED, ANSWERED)
    ]
    async with upstream(*said) as service:
        settings = Settings.of(model="openai:m", base_url=f"{service.url}/v1", pace_ms=0, memory="on")
        async with network(settings, documents=DOCUMENTS) as server:
            sent = {
                "message": "What does a return of a parcel cost? My parcel weighs 8 kg.",
                "user_id": "ana",
            }
            with trio.fail_after(60):
                answer = await read_path(server, "/chat", json.dumps(sent))
    assert '"text":"My parcel weighs 8 kg."' in answer
    assert "A return of a parcel costs 59 kr." in answer
    assert len(service.requests) == 2
    assert "memory.propose_add" in str(service.requests[0].body)
