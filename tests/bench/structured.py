"""What a validated call costs besides its model: `python -m tests.bench.structured`.

The same work for each library, with a model in memory that answers at once: a call with one wrong field, told to the
model, and mended in the second round. Ours and trustcall are answered with a patch of that field; instructor and
pydantic-ai have no patches and are answered with the whole call. Each runs as it is made to run: ours under trio,
trustcall and instructor by their synchronous interface, pydantic-ai under asyncio. Every library's turns come in small
batches, one library after the other, so that a busy moment of the machine meets all of them.

Needs agent-server[bench]; a library that is not installed is left out. Exit status 1 when ours is over its bound, or
another is nearer than its own.
"""

import asyncio
import importlib
import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import trio

from agent.structured.extract import Extractor
from agent.testing.replies import ScriptedLanguageModel, calls

BATCHES, TURNS = 15, 40
BOUND_MS = 0.08  # median of ours
TIMES = {"trustcall": 30, "instructor": 8, "pydantic-ai": 30}  # at least so many times ours

ASKED = "The printer on floor 3 burns"
GOOD = {"subject": "The printer on floor 3 burns", "priority": "high", "tags": ["printer", "fire"]}
BAD = {**GOOD, "priority": "urgent"}
MEND = [{"op": "replace", "path": "/priority", "value": "high"}]

os.environ.setdefault("LANGSMITH_TRACING", "false")  # nothing is sent anywhere
os.environ.setdefault("LANGCHAIN_TRACING_V2", "false")


class Ticket(msgspec.Struct):
    """A fault that somebody reports."""

    subject: str
    priority: Literal["low", "high"]
    tags: list[str]


Batch = Callable[[int], list[float]]  # so many turns; the seconds of each


def ours() -> Batch:
    """Return our own library's turns."""
    first = calls(("Ticket", json.dumps(BAD)))
    second = calls(("repair", json.dumps({"call": "c1", "operations": MEND})))
    expected = Ticket(GOOD["subject"], "high", GOOD["tags"])  # type: ignore[arg-type]

    async def turns(count: int) -> list[float]:
        spent = []
        for _ in range(count):
            extractor = Extractor(ScriptedLanguageModel(first, second), tools=[Ticket])
            began = time.perf_counter()
            outcome = await extractor.extract(ASKED)
            spent.append(time.perf_counter() - began)
            assert outcome.values == (expected,)
        return spent

    return lambda count: trio.run(turns, count)


def _pydantic_ticket() -> Any:
    pydantic = importlib.import_module("pydantic")
    fields = {"subject": (str, ...), "priority": (Literal["low", "high"], ...), "tags": (list[str], ...)}
    return pydantic.create_model("Ticket", **fields)


def trustcall() -> Batch:
    """Return trustcall's turns, over a chat model of LangChain's."""
    library = importlib.import_module("trustcall")
    models = importlib.import_module("langchain_core.language_models.chat_models")
    messages = importlib.import_module("langchain_core.messages")
    outputs = importlib.import_module("langchain_core.outputs")
    patch = {"json_doc_id": "call_1", "planned_edits": "- priority", "patches": MEND}
    script = [("Ticket", BAD, "call_1"), ("PatchFunctionErrors", patch, "call_2")]
    asked = 0

    class Scripted(models.BaseChatModel):  # type: ignore[name-defined, misc]
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **rest: Any) -> Any:
            return self

        def _generate(self, said: Any, stop: Any = None, run_manager: Any = None, **rest: Any) -> Any:
            nonlocal asked
            name, arguments, id = script[asked % 2]
            asked += 1
            call = {"name": name, "args": arguments, "id": id, "type": "tool_call"}
            message = messages.AIMessage(content="", tool_calls=[call])
            return outputs.ChatResult(generations=[outputs.ChatGeneration(message=message)])

    extractor = library.create_extractor(Scripted(), tools=[_pydantic_ticket()], tool_choice="Ticket")

    def turns(count: int) -> list[float]:
        spent = []
        for _ in range(count):
            began = time.perf_counter()
            result = extractor.invoke(ASKED)
            spent.append(time.perf_counter() - began)
            assert result["responses"][0].model_dump() == GOOD
        return spent

    return turns


def instructor() -> Batch:
    """Return instructor's turns, over a function in place of OpenAI's client."""
    library = importlib.import_module("instructor")
    chat = importlib.import_module("openai.types.chat")
    answers = []
    for arguments in (BAD, GOOD):
        function = {"name": "Ticket", "arguments": json.dumps(arguments)}
        message = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice]}
        answers.append(chat.ChatCompletion.model_validate(answer))
    asked = 0

    def create(**rest: Any) -> Any:
        nonlocal asked
        asked += 1
        return answers[(asked - 1) % 2]

    patched = library.patch(create=create)
    ticket = _pydantic_ticket()

    def turns(count: int) -> list[float]:
        spent = []
        for _ in range(count):
            told = [{"role": "user", "content": ASKED}]
            began = time.perf_counter()
            result = patched(model="x", response_model=ticket, messages=told, max_retries=2)
            spent.append(time.perf_counter() - began)
            assert result.model_dump() == GOOD
        return spent

    return turns


def pydantic_ai() -> Batch:
    """Return pydantic-ai's turns, over its own model for tests."""
    library = importlib.import_module("pydantic_ai")
    messages = importlib.import_module("pydantic_ai.messages")
    functions = importlib.import_module("pydantic_ai.models.function")
    script = (BAD, GOOD)
    asked = 0

    async def answer(said: Any, info: Any) -> Any:
        nonlocal asked
        arguments = json.dumps(script[asked % 2])
        asked += 1
        part = messages.ToolCallPart(info.output_tools[0].name, arguments)
        return messages.ModelResponse(parts=[part])

    agent = library.Agent(functions.FunctionModel(answer), output_type=_pydantic_ticket(), retries=2)

    async def turns(count: int) -> list[float]:
        spent = []
        for _ in range(count):
            began = time.perf_counter()
            result = await agent.run(ASKED)
            spent.append(time.perf_counter() - began)
            assert result.output.model_dump() == GOOD
        return spent

    return lambda count: asyncio.run(turns(count))


LIBRARIES: dict[str, tuple[str, Callable[[], Batch]]] = {
    "ours": ("agent", ours),
    "trustcall": ("trustcall", trustcall),
    "instructor": ("instructor", instructor),
    "pydantic-ai": ("pydantic_ai", pydantic_ai),
}


def say(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


def main() -> int:
    """Print the table; return the exit status."""
    batches = {}
    for name, (package, made) in LIBRARIES.items():
        if importlib.util.find_spec(package) is None:
            say(f"{name}: not installed, left out (pip install 'agent-server[bench]')")
        else:
            batches[name] = made()
    spent: dict[str, list[float]] = {name: [] for name in batches}
    for batch in batches.values():
        batch(TURNS)  # imports and caches
    for _ in range(BATCHES):
        for name, batch in batches.items():
            spent[name] += batch(TURNS)
    medians = {name: statistics.median(seconds) * 1000 for name, seconds in spent.items()}
    say("one call with a wrong field, and its repair, without the model")
    say(f"{'':14}{'median ms':>10}{'times ours':>12}{'bound':>10}")
    failed = medians["ours"] > BOUND_MS
    for name, median in medians.items():
        times = median / medians["ours"]
        failed = failed or times < TIMES.get(name, 0)
        bound = f"{BOUND_MS} ms" if name == "ours" else str(TIMES[name])
        say(f"{name:14}{median:10.3f}{times:12.1f}{bound:>10}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
