"""The real `openai` package as a client of the real command: answers, streams, errors, and a stream that is left."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from ..both import EACH_AT_LENGTH, Flags
from .test_process import PATIENCE, serve

openai: Any = pytest.importorskip("openai", reason="install the extra `proof` for the client of others")

QUESTION = "What does the Standard plan cost per month?"
TOKEN = "a-token-of-24-characters"


@pytest.fixture(name="port", scope="module", params=EACH_AT_LENGTH)
def _port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a server that has read its documents."""
    workers: Flags = request.param
    folder = tmp_path_factory.mktemp("openai")
    with serve(folder, "--vectors", "off", "--name", "Helper", *workers) as (_, port):
        wait_until_ready(port)
        yield port


def wait_until_ready(port: int) -> None:
    """Wait until questions are answered."""
    until = time.monotonic() + PATIENCE
    while not ready(port) and time.monotonic() < until:
        time.sleep(0.01)


def ready(port: int) -> bool:
    """Whether questions are answered yet."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE):
            return True
    except HTTPError:
        return False


def client(port: int, key: str = "none") -> Any:
    """Return a client as its users make one; it asks once only."""
    return openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0, timeout=PATIENCE)


def figures(port: int) -> str:
    """Return the server's figures."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        return str(answer.read().decode())


def said(text: str, role: str = "user") -> dict[str, str]:
    """Return a message."""
    return {"role": role, "content": text}


@pytest.mark.proof
def test_the_openai_package_asks_and_reads_answers(port: int) -> None:
    """Whole and streamed alike, with the sources and the reason of a refusal as extra fields."""
    with client(port) as ours:
        (model,) = ours.models.list().data
        assert model.id == "Helper"
        assert ours.models.retrieve("Helper") == model
        asked = {
            "model": model.id,
            "messages": [said("Be brief.", "system"), said(QUESTION)],
            "temperature": 0,
        }
        whole = ours.chat.completions.create(**asked)
        (choice,) = whole.choices
        assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
        assert "299 kr" in choice.message.content
        assert choice.message.citations[0]["file"] == "kb/pricing.md"
        assert choice.message.blocked is None
        assert (choice.message.tool_calls, whole.usage) == (None, None)  # it quotes: no model counts tokens
        chunks = list(ours.chat.completions.create(**asked, stream=True))
        assert "".join(each.choices[0].delta.content or "" for each in chunks) == choice.message.content
        assert len(chunks) > 10
        assert chunks[-1].choices[0].finish_reason == "stop"
        assert chunks[-1].choices[0].delta.citations == choice.message.citations
        refused = ours.chat.completions.create(model="x", messages=[said("How high is Mount Everest?")])
        assert refused.choices[0].message.blocked["code"] == "no_sources"
        before = [said(QUESTION), said(choice.message.content, "assistant"), said("And the premium one?")]
        follow = ours.chat.completions.create(model="x", messages=before)
        assert "599 kr" in follow.choices[0].message.content


LOOK_UP: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Gets an order.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
}


@pytest.mark.proof
@pytest.mark.parametrize("stream", [False, True])
def test_the_openai_package_runs_its_own_tool(port: int, stream: bool) -> None:
    """Its helpers put the call together; the result is cited."""
    messages: list[Any] = [said("Get order A-17, please.")]
    asked = {"model": "x", "tools": [LOOK_UP]}

    def complete() -> Any:
        if not stream:
            return ours.chat.completions.create(**asked, messages=messages).choices[0]
        with ours.chat.completions.stream(**asked, messages=messages) as events:
            return events.get_final_completion().choices[0]

    with client(port) as ours:
        choice = complete()
        assert choice.finish_reason == "tool_calls"
        (call,) = choice.message.tool_calls
        assert (call.type, call.function.name) == ("function", "get_order")
        assert call.function.arguments == '{"order_id":"A-17"}'
        messages += [
            choice.message.model_dump(exclude={"parsed", "citations"}),
            {"role": "tool", "tool_call_id": call.id, "content": '{"state": "sent on 4 May"}'},
        ]
        choice = complete()
        assert choice.finish_reason == "stop"
        assert "sent on 4 May" in choice.message.content
        named = {"type": "function", "function": {"name": "get_order"}}
        forced = ours.chat.completions.create(**asked, messages=[said("order id: B-2")], tool_choice=named)
        assert forced.choices[0].message.tool_calls[0].function.arguments == '{"order_id":"B-2"}'


@pytest.mark.proof
def test_the_openai_package_parses_an_answer_in_json(port: int) -> None:
    """Whole and streamed, as a value of its class; a value that is missing is asked for in a refusal."""
    pydantic: Any = pytest.importorskip("pydantic")
    order = pydantic.create_model("Order", order_id=(str, ...))
    with client(port) as ours:
        asked: dict[str, Any] = {"model": "x", "response_format": order}
        given, missing = [said("order id: A-17")], [said("Well?")]
        message = ours.chat.completions.parse(**asked, messages=given).choices[0].message
        assert (message.parsed, message.refusal) == (order(order_id="A-17"), None)
        assert message.sources == {"/order_id": "user"}
        message = ours.chat.completions.parse(**asked, messages=missing).choices[0].message
        assert message.parsed is None
        assert "order" in message.refusal
        with ours.chat.completions.stream(**asked, messages=given) as events:
            assert events.get_final_completion().choices[0].message.parsed == order(order_id="A-17")
        with ours.chat.completions.stream(**asked, messages=missing) as events:
            assert "order" in events.get_final_completion().choices[0].message.refusal


@pytest.mark.proof
@pytest.mark.parametrize("stream", [False, True])
def test_the_openai_package_asks_for_responses(port: int, stream: bool) -> None:
    """An answer with its sources, a call of its own tool with the result, and a value of its class."""
    pydantic: Any = pytest.importorskip("pydantic")
    order = pydantic.create_model("Order", order_id=(str, ...))

    def respond(**asked: Any) -> Any:
        if not stream:
            return ours.responses.parse(model="x", **asked)
        with ours.responses.stream(model="x", **asked) as events:
            *_, last = list(events)
            assert last.type == "response.completed"
            return events.get_final_response()

    with client(port) as ours:
        answer = respond(input=QUESTION, instructions="Be brief.")
        assert (answer.model, answer.status, answer.usage) == ("Helper", "completed", None)
        assert "299 kr" in answer.output_text
        assert answer.output[0].citations[0]["file"] == "kb/pricing.md"
        follow = respond(input=[said(QUESTION), *answer.output, said("And the premium one?")])
        assert "599 kr" in follow.output_text
        tools = [{"type": "function", "strict": True, **LOOK_UP["function"]}]
        asked = [said("Get order A-17, please.")]
        (call,) = respond(input=asked, tools=tools).output
        assert (call.type, call.name, call.arguments) == ("function_call", "get_order", '{"order_id":"A-17"}')
        sent = {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": '{"state": "sent on 4 May"}',
        }
        told = respond(input=[*asked, call.to_dict(exclude_unset=True), sent], tools=tools)
        assert "sent on 4 May" in told.output_text
        assert respond(input="order id: A-17", text_format=order).output_parsed == order(order_id="A-17")
        (part,) = respond(input="Well?", text_format=order).output[0].content
        assert (part.type, "order" in part.refusal) == ("refusal", True)


@pytest.mark.proof
def test_the_openai_package_reads_errors(port: int, tmp_path: Path) -> None:
    """As its own exceptions, with our sentence and our code."""
    with client(port) as ours:
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "array"}}}
        with pytest.raises(openai.BadRequestError) as unsupported:
            ours.chat.completions.create(model="x", messages=[said(QUESTION)], tools=[tool])
        assert unsupported.value.code == "bad_tool"
        with pytest.raises(openai.BadRequestError) as stored:
            ours.responses.create(model="x", input=QUESTION, previous_response_id="resp_1")
        assert stored.value.code == "unsupported_state"
        with pytest.raises(openai.NotFoundError) as missing:
            ours.models.retrieve("gpt")
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError) as nowhere:
            ours.images.generate(model="x", prompt="x")
        assert nowhere.value.code == "not_found"
        with pytest.raises(openai.NotFoundError) as without:
            ours.embeddings.create(model="x", input="x")
        assert without.value.code == "vectors_off"
        with pytest.raises(openai.APIStatusError) as large:
            ours.chat.completions.create(model="x", messages=[said("x" * 300_000)])
        assert (large.value.status_code, large.value.code) == (413, "too_large")
    with serve(tmp_path, "--token", TOKEN, "--vectors", "off") as (_, other):
        with client(other, "wrong") as stranger, pytest.raises(openai.AuthenticationError):
            stranger.models.list()
        with client(other, TOKEN) as known:
            assert known.models.list().data[0].id == "agent"


@pytest.mark.proof
def test_the_openai_package_reads_vectors(tmp_path: Path) -> None:
    """In base64, as it asks for by itself, and as numbers; texts of one meaning are near each other."""
    with serve(tmp_path, "--vectors", "static") as (_, port):
        wait_until_ready(port)
        with client(port) as ours:
            texts = ["a lost bank card", "my credit card is missing", "the weather in June"]
            given = ours.embeddings.create(model="x", input=texts)
            card, missing, weather = (each.embedding for each in given.data)
            assert given.model.startswith("static:")
            as_numbers = ours.embeddings.create(model="x", input=texts[0], encoding_format="float")
            assert as_numbers.data[0].embedding == pytest.approx(card, abs=1e-6)

    def cosine(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert cosine(card, card) == pytest.approx(1)
    assert cosine(card, missing) > cosine(card, weather) + 0.2


@pytest.mark.proof
def test_a_stream_that_the_openai_package_leaves_is_cancelled(port: int) -> None:
    """Its turn has ended, and not by itself: its words would have gone on for longer."""
    with client(port) as ours:
        stream = ours.chat.completions.create(model="x", messages=[said(QUESTION)], stream=True)
        for _, _ in zip(range(5), stream, strict=False):
            pass
        assert "agent_turns_running 1.0" in figures(port)
        stream.close()
        until = time.monotonic() + PATIENCE
        while "agent_turns_running 0.0" not in figures(port) and time.monotonic() < until:
            time.sleep(0.01)
    told = figures(port)
    assert "agent_turns_running 0.0" in told
    assert 'agent_turns_total{outcome="disconnected"} 1.0' in told
