"""LangChain and pydantic-ai as clients of the real command: each with a tool, and with an output type."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .test_openai import QUESTION, wait_until_ready
from .test_process import serve

pytestmark = pytest.mark.proof

ORDER = {
    "title": "Order",
    "description": "An order.",
    "type": "object",
    "properties": {"order_id": {"type": "string"}},
    "required": ["order_id"],
}


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server that has read its documents."""
    folder: Path = tmp_path_factory.mktemp("frameworks")
    with serve(folder, "--vectors", "off") as (_, port):
        wait_until_ready(port)
        yield f"http://127.0.0.1:{port}/v1"


@pytest.mark.parametrize("responses", [False, True])
def test_langchain_binds_a_tool_and_reads_a_value(url: str, responses: bool) -> None:
    """Over either protocol. The value comes as a call of a tool, or as an answer in JSON."""
    langchain: Any = pytest.importorskip("langchain_openai", reason="install the extra `proof`")
    messages: Any = pytest.importorskip("langchain_core.messages")
    usual = {"base_url": url, "api_key": "none", "model": "agent", "max_retries": 0}
    model = langchain.ChatOpenAI(**usual, use_responses_api=responses)
    tool = {"type": "function", "function": {"name": "get_order", "parameters": ORDER}}
    bound = model.bind_tools([tool])
    asked = messages.HumanMessage("Get order A-17, please.")
    called = bound.invoke([asked])
    (call,) = called.tool_calls
    assert (call["name"], call["args"]) == ("get_order", {"order_id": "A-17"})
    returned = messages.ToolMessage("sent on 4 May", tool_call_id=call["id"])
    assert "sent on 4 May" in bound.invoke([asked, called, returned]).text
    whole: Any = None
    for chunk in bound.stream([asked]):
        whole = chunk if whole is None else whole + chunk
    assert whole.tool_calls[0]["args"] == call["args"]
    for method in ("function_calling", "json_schema"):
        valued = model.with_structured_output(ORDER, method=method)
        assert valued.invoke("order id: A-17") == {"order_id": "A-17"}


@pytest.mark.parametrize("kind", ["OpenAIChatModel", "OpenAIResponsesModel"])
def test_pydantic_ai_runs_a_tool_and_reads_an_output(url: str, kind: str) -> None:
    """Over either protocol: the agent runs its tool itself, and tells the result; an output type must be called."""
    openai: Any = pytest.importorskip("openai", reason="install the extra `proof`")
    agents: Any = pytest.importorskip("pydantic_ai", reason="install the extra `proof`")
    models: Any = pytest.importorskip("pydantic_ai.models.openai")
    providers: Any = pytest.importorskip("pydantic_ai.providers.openai")
    pydantic: Any = pytest.importorskip("pydantic")
    order = pydantic.create_model("Order", order_id=(str, ...))
    ran: list[str] = []

    def get_order(order_id: str) -> str:
        """Get an order."""
        ran.append(order_id)
        return json.dumps({"state": "sent on 4 May"})

    async def run() -> tuple[Any, Any]:
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            model = getattr(models, kind)("agent", provider=providers.OpenAIProvider(openai_client=client))
            told = await agents.Agent(model, tools=[get_order]).run("Get order A-17, please.")
            valued = await agents.Agent(model, output_type=order).run("order id: A-17")
            native = agents.NativeOutput(order)
            formed = await agents.Agent(model, output_type=native).run("order id: A-17")
            assert formed.output == valued.output
            async with agents.Agent(model).run_stream(QUESTION) as streamed:
                assert "299 kr" in await streamed.get_output()
            return told.output, valued.output

    told, valued = asyncio.run(run())
    assert ran == ["A-17"]
    assert "sent on 4 May" in told
    assert valued == order(order_id="A-17")
