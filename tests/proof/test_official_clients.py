"""The services' own clients as judges: what our fake of a service says is what they read, and what we ask is what they
would ask. They import slowly and bring an HTTP stack of their own, so the program does not use them."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest
import trio
from msgspec.structs import replace

from agent.models.anthropic import Anthropic
from agent.models.openai import OpenAI
from agent.ports.model import (
    CallDelta,
    Finish,
    ModelRequest,
    NamedTool,
    Piece,
    TextDelta,
    ToolChoice,
    Usage,
)
from agent.testing.models import ASKED
from tests.strikes.spoken import REASONS, SHAPES
from tests.strikes.upstream import Reply, commented, cut_inside, ended, refused, reply, split, upstream

pytestmark = pytest.mark.proof
T = TypeVar("T")
TEXT = "Det kostar ½ å 😀."
REQUEST = replace(ASKED, form=ASKED.tools[0].schema)


def said(reason: str) -> tuple[Piece, ...]:
    """Return text, and where the reason says so two calls that alternate."""
    calls = (
        CallDelta(0, "c1", "f", '{"a"'),
        CallDelta(1, "c2", "g", ""),
        CallDelta(0, arguments=": 1}"),
        CallDelta(1, arguments="{}"),
    )
    text = (TextDelta(TEXT[:6]), TextDelta(TEXT[6:]))
    return (*text, *(calls if reason == "calls" else ()), Finish(reason, Usage(3, 4)))  # type: ignore[arg-type]


async def in_thread(function: Callable[[], T]) -> T:
    """Run a client that blocks, while the service it asks is served here."""
    return await trio.to_thread.run_sync(function)


def ask_openai(url: str, body: dict[str, Any]) -> Any:
    openai = pytest.importorskip("openai")
    made = openai.OpenAI(api_key="k", base_url=url + "/v1", max_retries=0)
    with made as client, client.chat.completions.create(**body) as stream:
        return list(stream)


def ask_anthropic(url: str, body: dict[str, Any]) -> Any:
    anthropic = pytest.importorskip("anthropic")
    body = {key: value for key, value in body.items() if key != "stream"}
    made = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0)
    with made as client, client.messages.stream(**body) as stream:
        return stream.get_final_message()


ANY_WAY: dict[str, Callable[[Reply], Reply]] = {
    "as it is": lambda good: good,
    "split": lambda good: split(good, 3),
    "CR LF": lambda good: ended(good, b"\r\n"),
    "comments": commented,
}


@pytest.mark.parametrize("way", ANY_WAY)
@pytest.mark.parametrize("reason", REASONS["openai"])
async def test_openai_s_client_reads_our_fake(reason: str, way: str) -> None:
    """Text, calls told apart, the reason, and what was counted."""
    body = OpenAI("m").make_body(REQUEST)
    async with upstream(ANY_WAY[way](reply(SHAPES["openai"](said(reason))))) as service:
        chunks = await in_thread(partial(ask_openai, service.url, body))
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.delta.content or choice.delta.refusal or "" for choice in choices) == TEXT
    assert any(choice.delta.refusal for choice in choices) == (reason == "refusal")
    calls = [call for choice in choices for call in choice.delta.tool_calls or ()]
    for index, (name, arguments) in enumerate((("f", '{"a": 1}'), ("g", "{}")) if reason == "calls" else ()):
        mine = [call for call in calls if call.index == index]
        assert (mine[0].id, mine[0].function.name) == (f"c{index + 1}", name)
        assert "".join(call.function.arguments for call in mine) == arguments
    words = {"calls": "tool_calls", "filtered": "content_filter", "refusal": "stop"}
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == [words.get(reason, reason)]
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (3, 4)


@pytest.mark.parametrize("way", ANY_WAY)
@pytest.mark.parametrize("reason", REASONS["anthropic"])
async def test_anthropic_s_client_reads_our_fake(reason: str, way: str) -> None:
    """The message that it gathers is the one that was said."""
    body = Anthropic("m").make_body(REQUEST)
    async with upstream(ANY_WAY[way](reply(SHAPES["anthropic"](said(reason))))) as service:
        message = await in_thread(partial(ask_anthropic, service.url, body))
    calls = [("tool_use", "c1", "f", {"a": 1}), ("tool_use", "c2", "g", {})] if reason == "calls" else []
    assert message.content[0].text == TEXT
    assert [(block.type, block.id, block.name, block.input) for block in message.content[1:]] == calls
    words = {"calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}
    assert message.stop_reason == words.get(reason, reason)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 4)


@pytest.mark.parametrize("choice", [ToolChoice.AUTO, ToolChoice.NONE, ToolChoice.REQUIRED, NamedTool("f")])
async def test_what_we_ask_is_what_the_clients_ask(choice: ToolChoice | NamedTool) -> None:
    """Each takes our body as its arguments, and sends it as it is."""
    asked = ModelRequest(
        messages=REQUEST.messages,
        tools=REQUEST.tools,
        choice=choice,
        form=REQUEST.form,
        max_tokens=50,
        stable=1,
    )
    for shape, ask, body in (
        ("openai", ask_openai, OpenAI("m").make_body(asked)),
        ("anthropic", ask_anthropic, Anthropic("m").make_body(asked)),
    ):
        async with upstream(reply(SHAPES[shape](said("stop")))) as service:
            await in_thread(partial(ask, service.url, body))
            sent = service.requests[0]
        assert sent.body == body
        assert (
            sent.path
            == (OpenAI("m").address if shape == "openai" else Anthropic("m").address).url.split(".com")[1]
        )


async def test_the_clients_know_our_fake_s_faults() -> None:
    """Each status is the error that they have for it, and a connection that breaks is one."""
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    bodies = {"openai": OpenAI("m").make_body(REQUEST), "anthropic": Anthropic("m").make_body(REQUEST)}
    for shape, ask, sdk in (("openai", ask_openai, openai), ("anthropic", ask_anthropic, anthropic)):
        for status, error in (
            (429, sdk.RateLimitError),
            (500, sdk.InternalServerError),
            (401, sdk.AuthenticationError),
            (400, sdk.BadRequestError),
        ):
            async with upstream(refused(status, "7")) as service:
                with pytest.raises(error) as told:
                    await in_thread(partial(ask, service.url, bodies[shape]))
            assert told.value.response.headers["retry-after"] == "7"
        async with upstream(cut_inside(reply(SHAPES[shape](said("stop"))))) as service:
            with pytest.raises(Exception, match=r"(?i)connection|peer|incomplete"):
                await in_thread(partial(ask, service.url, bodies[shape]))
