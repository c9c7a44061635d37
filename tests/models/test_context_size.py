"""The size of a model's context, as each server tells it on real sockets; every fault means that it is not known."""

import json
from typing import Any

import pytest
import trio

from agent.models.context_size import ASK_SECONDS
from agent.models.open import ask_context
from agent.models.settings import ModelSettings
from tests.examples import sample
from tests.strikes.upstream import Reply, refused, upstream

PROPS = {"default_generation_settings": {"params": {}, "n_ctx": 2048}, "total_slots": 1}
RUNNING = {"models": [{"name": "x", "context_length": 1}, {"name": "m:latest", "context_length": 4096}]}
SHOWN = {"parameters": "stop    x\nnum_ctx    8192", "model_info": {"llama.context_length": 131072}}
LOADED = {
    "data": [{"id": "m", "state": "loaded", "max_context_length": 32768, "loaded_context_length": 6000}]
}
LISTED = {"object": "list", "data": [{"id": "m", "owned_by": "vllm", "max_model_len": 16384}]}
MISSING = refused(404)


def told(value: Any) -> Reply:
    """Return the reply of a JSON value."""
    return Reply((json.dumps(value).encode(),), headers={"content-type": "application/json"})


async def ask(*replies: Reply, end: str = "/v1") -> tuple[int | None, list[str]]:
    """Ask a server that gives these replies; return the size and the paths of the requests."""
    async with upstream(*replies) as service:
        size = await ask_context(ModelSettings(model="openai:m", base_url=f"{service.url}{end}"), {})
        with trio.fail_after(5):
            await service.until(lambda: not service.open)
    return size, [each.path for each in service.requests]


@pytest.mark.parametrize(
    ("replies", "size"),
    [
        ((told(PROPS),), 2048),
        ((MISSING, told(RUNNING)), 4096),
        ((MISSING, told({"models": []}), told(SHOWN)), 8192),
        ((told({"error": "Unexpected endpoint"}), told({"error": "x"}), MISSING, told(LOADED)), 6000),
        ((MISSING, MISSING, MISSING, MISSING, told(LISTED)), 16384),
    ],
    ids=["llama.cpp", "ollama-running", "ollama-settings", "lm-studio", "vllm"],
)
async def test_each_server_tells_it_its_own_way(replies: tuple[Reply, ...], size: int) -> None:
    """The context that the model has now, and not the larger one that it was trained with."""
    told_size, paths = await ask(*replies)
    assert told_size == size
    assert paths == ["/props", "/api/ps", "/api/show", "/api/v0/models", "/v1/models"][: len(replies)]


@pytest.mark.parametrize("end", ["", "/", "/v1/", "/v1/chat/completions"])
async def test_the_routes_stand_beside_v1(end: str) -> None:
    """However the address of the server is written."""
    assert await ask(told(PROPS), end=end) == (2048, ["/props"])


@pytest.mark.parametrize(
    "reply",
    sample(
        [
            MISSING,
            told([]),
            told({"default_generation_settings": []}),
            told({"default_generation_settings": {"n_ctx": True}}),
            told({"default_generation_settings": {"n_ctx": -1}}),
            told({"default_generation_settings": {"n_ctx": 1e9}}),
            told({"default_generation_settings": {"n_ctx": 10**40}}),
            told({"models": [1, {"name": "m"}], "data": {"id": "m"}, "parameters": ["num_ctx 1"]}),
            Reply((b"[" * 100_000,)),
            Reply((b"\xff",)),
            Reply((b'{"default_generation_settings": {"n_ctx": 1}, "x": "' + b"x" * 2**20 + b'"}',)),
            Reply((b"{",), ending="cut"),
            Reply((b"{",), ending="reset"),
            Reply(head=b"HTTP/1.1 200 \r\n\r"),
        ],
        3,
    ),
)
async def test_an_answer_that_tells_nothing_is_no_size(reply: Reply) -> None:
    """Wrong values, wrong types, too deep, no text, too long, and broken off."""
    size, paths = await ask(reply)
    assert size is None
    assert len(paths) <= 5


async def test_a_server_that_hangs_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    """After `ASK_SECONDS` for all questions, with its connection closed."""
    async with upstream(Reply((b"{",), ending="hang")) as service:
        with trio.fail_after(ASK_SECONDS + 1):
            assert await ask_context(ModelSettings(model="openai:m", base_url=service.url), {}) is None


async def test_a_closed_port_is_asked_once() -> None:
    """The model's own failure is told already."""
    assert await ask_context(ModelSettings(model="openai:m", base_url="http://127.0.0.1:9/v1"), {}) is None


@pytest.mark.parametrize("model", ["openai:gpt-4.1", "mock", "claude-cli", "record:DIR:openai:m"])
async def test_services_in_the_cloud_and_other_models_are_not_asked(model: str) -> None:
    """Nor where answers are recorded."""
    assert await ask_context(ModelSettings(model=model), {"OPENAI_API_KEY": "sk-SECRET"}) is None


async def test_the_server_gets_the_key_that_it_gets_anyway() -> None:
    """A server that wants a key wants it for these routes too; the name of the model goes in a body."""
    async with upstream(MISSING) as service:
        settings = ModelSettings(model="openai:m", base_url=f"{service.url}/v1")
        await ask_context(settings, {"AGENT_MODEL_KEY": "secret", "OPENAI_API_KEY": "sk-SECRET"})
        assert {each.headers["authorization"] for each in service.requests} == {"Bearer secret"}
        assert [each.body for each in service.requests] == [None, None, {"model": "m"}, None, None]
