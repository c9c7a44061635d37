"""A server whose language model fails: its operator reads why in one line, and its clients that it does not answer."""

import json

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.ports.model import Finish, TextDelta
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.network import Network, network
from tests.logs import logged
from tests.strikes.spoken import SHAPES
from tests.strikes.upstream import Reply, refused, reply, upstream

KEY = "sk-SECRET2-abcdef"
WRONG_KEY = refused(401, body=b'{"error": {"message": "Incorrect API key provided: sk-SECR****cdef."}}')
GOOD = reply(SHAPES["openai"]((TextDelta("ready"), Finish("stop"))))
DOCUMENTS = (SourceFile("kb/a.md", b"# Prices\n\nA return costs 59 kr.\n"),)
TROUBLE = (
    "The language model does not answer: the model's server refused the request (status 401): "
    "set AGENT_MODEL_KEY to a key that is valid there."
)


async def read_path(server: Network, path: str, body: str = "") -> str:
    """Return the answer to a GET, or to a POST where there is a `body`, head and body."""
    stream = server.open()
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:8787\r\nConnection: close\r\n"
    await stream.send_all(
        f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    text = b""
    while data := await stream.receive_some():
        text += data
    return text.decode()


async def test_a_wrong_key_is_told_at_the_start_and_until_the_model_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The log has one warning line with the server's sentence; `/readyz` has the remedy alone, and neither the key."""
    monkeypatch.setenv("AGENT_MODEL_KEY", KEY)
    async with upstream(WRONG_KEY, GOOD) as service:
        settings = Settings.of(model="openai:m", base_url=f"{service.url}/v1", pace_ms=0)
        with logged() as log:
            async with network(settings, Adapters(probes_model=True), DOCUMENTS) as server:
                with trio.fail_after(60):
                    while "but" not in (ready := await read_path(server, "/readyz")):  # noqa: ASYNC110
                        await trio.sleep(0.01)
                assert ready.endswith(f"ready, but: {TROUBLE}\n")
                assert "200 OK" in ready.splitlines()[0]
                await read_path(server, "/ask", '{"text": "What does a return cost?"}')
                assert (await read_path(server, "/readyz")).endswith("\r\n\r\nready\n")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (warning,) = [line for line in lines if line.get("kind") == "auth" and line["level"] == "warning"]
    assert (warning["event"], warning["level"]) == ("model does not answer", "warning")
    assert warning["server"] == "Incorrect API key provided: ***"
    assert "AGENT_MODEL_KEY" in warning["reason"]
    assert "SECR" not in log.getvalue() + ready


async def test_a_server_asks_nothing_where_it_shall_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server inside a test or a program asks its model only what its clients ask."""
    async with upstream(GOOD) as service:
        settings = Settings.of(model="openai:m", base_url=f"{service.url}/v1")
        async with network(settings, documents=DOCUMENTS) as server:
            await read_path(server, "/readyz")
            assert service.requests == []


async def test_a_turn_whose_model_fails_is_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that says why; that the turn ended for it is information."""
    monkeypatch.setenv("AGENT_MODEL_KEY", KEY)
    async with upstream(WRONG_KEY) as service:
        settings = Settings.of(model="openai:m", base_url=f"{service.url}/v1", pace_ms=0)
        with logged() as log:
            async with network(settings, documents=DOCUMENTS) as server:
                await read_path(server, "/ask", '{"text": "What does a return cost?"}')
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    told = [(line["level"], line["event"]) for line in lines if line.get("kind") == "auth"]
    assert told == [("warning", "model does not answer"), ("info", "model failed")]


async def test_prompts_are_cut_to_the_context_that_the_server_tells() -> None:
    """From its start, and not only after a refusal: some servers drop the front of a prompt that is too long."""
    text = "\n\n".join(
        f"A return of kind {number} costs {number} kr, {'and more ' * 20}" for number in range(30)
    )
    documents = (SourceFile("kb/a.md", f"# Returns\n\n{text}\n".encode()),)
    lengths = []
    for told in (b"{}", b'{"default_generation_settings": {"n_ctx": 2048}}'):
        async with upstream(GOOD, Reply((told,)), GOOD) as service:
            settings = Settings.of(model="openai:m", base_url=f"{service.url}/v1", pace_ms=0)
            async with network(settings, Adapters(probes_model=True), documents) as server:
                with trio.fail_after(60):
                    await service.until(lambda: len(service.requests) > 1 and not service.open)
                    await trio.testing.wait_all_tasks_blocked(0.02)
                    await read_path(server, "/ask", '{"text": "What does a return cost?"}')
        prompts = [each.body["messages"] for each in service.requests if "messages" in (each.body or {})]
        lengths.append(sum(len(message["content"]) for message in prompts[1]))
    assert lengths[0] > 6000
    assert lengths[1] < 2048 * 3 * 3 / 4
