"""`Extractor`: asks a language model for values until they are valid, or returns the reason that they are not.

Strategy: all rules are in `rounds.py`. This module carries its requests to the model and the answers back, one at a
time and in the caller's own task, so that a cancel reaches the model's stream directly and closes it. Nothing is left
behind but, at worst, a worker thread that repairs a text; no request waits for it longer than `REPAIR_TIMEOUT`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

import trio

from ..errors import ModelFailed
from ..host import WorkerThreads
from ..ports.model import LanguageModel, ModelMessage, ModelRequest, NamedTool, Tool, ToolChoice
from ..ports.work import RunSync
from . import instructions
from .decode import ParsedJson, UnparsedJson, find_json_part, mend_json, parse_strictly
from .messages import BadInput, RequestInput, messages_of
from .outcome import Doc, Extraction, PartialCall
from .partial_reader import PartialReader
from .plan import (
    ExistingDocument,
    ImpossibleRequest,
    OwnToolNames,
    Plan,
    choose_allowed,
    name_documents,
    read_documents,
)
from .reply import ModelReply, ReplyFailure, WrittenCall
from .reply_buffer import ReplyBuffer
from .rounds import Rounds
from .schema import BadSchema, GivenTool, ToolShape, make_tool_shape

REPAIR_TIMEOUT = 2.0  # for reading almost JSON in a worker thread, which usually takes milliseconds

__all__ = ["Doc", "Extraction", "Extractor", "PartialCall", "Partials"]


class Partials:
    """The calls of one request while they are written; an async iterator of `PartialCall`.

    Only the first answer is shown as it grows; the outcome holds the result of the repair rounds.
    """

    def __init__(self, steps: AsyncGenerator[PartialCall | Extraction, None]) -> None:
        self._steps = steps
        self._outcome: Extraction | None = None

    @property
    def outcome(self) -> Extraction:
        """The outcome, once the iteration has ended. Raises `RuntimeError` before."""
        if self._outcome is None:
            raise RuntimeError("there is no outcome yet: read the partials to their end first")
        return self._outcome

    def __aiter__(self) -> AsyncIterator[PartialCall]:
        return self

    async def __anext__(self) -> PartialCall:
        async for step in self._steps:
            if isinstance(step, PartialCall):
                return step
            self._outcome = step
        raise StopAsyncIteration


class Extractor:
    """Turns the text of a model into valid values. It has no state between requests, which may run side by side.

    Args:
        model: The model to ask.
        tools: The values to ask for: types with a msgspec schema, pydantic models, functions, `Tool`s, or mappings with
            a JSON Schema (with a title, or in OpenAI's, Anthropic's and MCP's forms). A tool that cannot work makes
            every outcome `invalid`.
        max_attempts: Most requests to the model for one outcome, repairs included; at least 1.
        max_tokens: Of one answer; doubled once when an answer is cut by it.
        native: Offer the model tools. Otherwise it is asked for JSON in its text, which is also read when a model
            ignores its tools.
        run_sync: Repairs texts that are almost JSON, off the event loop. Default: worker threads of its own.

    Raises ValueError for bounds that cannot work.
    """

    def __init__(
        self,
        model: LanguageModel,
        tools: Sequence[GivenTool],
        *,
        max_attempts: int = 3,
        max_tokens: int = 1024,
        native: bool = True,
        run_sync: RunSync | None = None,
    ) -> None:
        if max_attempts < 1 or max_tokens < 1:
            raise ValueError("max_attempts and max_tokens must be at least 1")
        self._model = model
        self._max_attempts = max_attempts
        self._max_tokens = max_tokens
        self._native = native
        self._run_sync = run_sync or WorkerThreads(1)
        self._fault = ""
        self._shapes: dict[str, ToolShape] = {}
        try:
            for tool in tools:
                shape = make_tool_shape(tool)
                if shape.name in self._shapes:
                    raise BadSchema(f"two tools are called {shape.name}")
                self._shapes[shape.name] = shape
        except BadSchema as error:
            self._fault = str(error)
        self._names = OwnToolNames.choose_free(self._shapes)

    async def extract(
        self, request: RequestInput, choice: ToolChoice | NamedTool = ToolChoice.REQUIRED
    ) -> Extraction:
        """Return the calls that a model makes, each valid or with its problems.

        `request`: a text, a `Message`, or a list of `Message`s and OpenAI-style dicts, also as `{"messages": [...]}`,
        which are left as they are. `choice`: whether a call is required; with `ToolChoice.AUTO` an answer without a
        call is valid, too (`Extraction.text`). Raises only exceptions that a model raises against its port. Cancelled,
        it closes the model's stream first.
        """
        return await self._run(self._plan_request(request, choice))

    async def update(
        self,
        request: RequestInput,
        docs: Mapping[str, Any],
        *,
        inserts: bool = True,
        deletes: bool = False,
        edits: bool = True,
        choice: ToolChoice | NamedTool = ToolChoice.REQUIRED,
    ) -> Extraction:
        """Return a model's changes to existing documents, by their ids, which the caller chose.

        `docs`: each a `Doc`, or a plain value, whose tool is the one of its id, of its type, or the only one.
        `inserts`, `deletes`, `edits`: the operations that are offered; any other operation is an error of that call.
        `choice`: as in `extract`; a `NamedTool` may name a tool, or `edit` or `remove`. The values in `docs` are not
        changed: a document that no edit names is returned unchanged. Raises and is cancelled as `extract`.
        """
        return await self._run(self._plan_update(request, docs, (inserts, deletes, edits), choice))

    @asynccontextmanager
    async def stream(
        self, request: RequestInput, choice: ToolChoice | NamedTool = ToolChoice.REQUIRED
    ) -> AsyncGenerator[Partials, None]:
        """Ask as `extract` does, and show the calls while they are written. Leaving early closes the model's stream."""
        async with aclosing(self._stream_steps(self._plan_request(request, choice))) as steps:
            yield Partials(steps)

    # --- plans

    def _plan_request(self, request: RequestInput, choice: ToolChoice | NamedTool) -> Plan | str:
        """Return the plan of a request, or the reason that it is impossible."""
        try:
            if self._fault:
                raise ImpossibleRequest(self._fault)
            allowed = choose_allowed(choice, self._shapes)
            tools = tuple(self._shapes[name].tool for name in allowed)
            messages = messages_of(request)
            return self._make_plan(messages, allowed, tools, choice)
        except (ImpossibleRequest, BadInput) as error:
            return str(error)

    def _plan_update(
        self,
        request: RequestInput,
        docs: Mapping[str, Any],
        enabled: tuple[bool, bool, bool],
        choice: ToolChoice | NamedTool,
    ) -> Plan | str:
        """Return the plan of an update, or the reason that it is impossible."""
        inserts, deletes, edits = enabled
        names = self._names
        try:
            if self._fault:
                raise ImpossibleRequest(self._fault)
            named = name_documents(docs, self._shapes)
            offered: dict[str, Tool] = {}
            if named and edits:
                offered[names.edit] = instructions.edit_tool(names, named)
            if inserts:
                offered |= {name: shape.tool for name, shape in self._shapes.items()}
            if named and deletes:
                offered[names.remove] = instructions.remove_tool(names, named)
            allowed = choose_allowed(choice, offered)
            tools = tuple(offered[name] for name in allowed)
            inserted = tuple(name for name in allowed if name in self._shapes)
            documents = read_documents(named, self._shapes)
            messages = messages_of(request)
            if documents:
                names_of_tools = [tool.name for tool in tools]
                messages = (
                    ModelMessage("system", instructions.describe_documents(documents, names_of_tools)),
                    *messages,
                )
            return self._make_plan(messages, inserted, tools, choice, documents)
        except (ImpossibleRequest, BadInput) as error:
            return str(error)

    def _make_plan(
        self,
        messages: tuple[ModelMessage, ...],
        allowed: tuple[str, ...],
        tools: tuple[Tool, ...],
        choice: ToolChoice | NamedTool,
        documents: Mapping[str, ExistingDocument] | None = None,
    ) -> Plan:
        """Return a plan with the bounds of this extractor. `tools`: all tools of the first round."""
        named = {tool.name for tool in tools}
        documents = documents or {}
        only = allowed[0] if len(allowed) == 1 and not documents and choice is not ToolChoice.AUTO else None
        if not self._native:
            messages = (ModelMessage("system", instructions.tools_in_text(tools, only)), *messages)
        return Plan(
            messages=messages,
            shapes=self._shapes,
            allowed=allowed,
            tools=tools,
            names=self._names,
            choice=choice,
            bare=only,
            native=self._native,
            max_attempts=self._max_attempts,
            max_tokens=self._max_tokens,
            held=documents,
            edits=self._names.edit in named,
            deletes=self._names.remove in named,
        )

    # --- rounds

    async def _run(self, plan: Plan | str) -> Extraction:
        if isinstance(plan, str):
            return Extraction(status="invalid", errors=(plan,))
        rounds = Rounds(plan)
        return await self._run_rounds(rounds, rounds.next_request())

    async def _run_rounds(self, rounds: Rounds, step: ModelRequest | Extraction) -> Extraction:
        """Run the rounds from `step` on; return their outcome."""
        while isinstance(step, ModelRequest):
            reply, failed = ReplyBuffer(), None
            try:
                async with aclosing(self._model.stream(step)) as pieces:
                    async for piece in pieces:
                        reply.add_piece(piece)
                        if reply.reason is not None:
                            break
            except ModelFailed as error:
                failed = error
            step = rounds.feed_reply(await self._read_reply(reply, failed))
        return step

    async def _stream_steps(self, plan: Plan | str) -> AsyncGenerator[PartialCall | Extraction, None]:
        """Yield the partial calls of the first answer, and at last the outcome."""
        if isinstance(plan, str):
            yield Extraction(status="invalid", errors=(plan,))
            return
        rounds = Rounds(plan)
        step: ModelRequest | Extraction = rounds.next_request()
        while isinstance(step, ModelRequest) and not rounds.is_repairing:
            reply, failed = ReplyBuffer(), None
            partials = PartialReader(plan, rounds.next_ids())
            try:
                async with aclosing(self._model.stream(step)) as pieces:
                    async for piece in pieces:
                        reply.add_piece(piece)
                        if reply.reason is not None:
                            break
                        partial_call = partials.add_piece(piece, trio.current_time())
                        if partial_call is not None:
                            yield partial_call
            except ModelFailed as error:
                failed = error
            for partial_call in partials.read_rest():
                yield partial_call
            step = rounds.feed_reply(await self._read_reply(reply, failed))
        yield await self._run_rounds(rounds, step)

    async def _read_reply(self, buffer: ReplyBuffer, failed: ModelFailed | None) -> ModelReply:
        """Return a parsed answer. Nothing of an answer that was cut is parsed."""
        reason, text = None if failed else buffer.reason, buffer.text
        if reason not in ("stop", "calls"):
            unread = UnparsedJson("it was cut", "")
            cut_calls = tuple(WrittenCall(each.id, each.name, "", unread) for each in buffer.calls)
            cut = _make_failure(failed) if reason is None else None
            return ModelReply(
                text=text, calls=cut_calls, reason=reason or "stop", usage=buffer.usage, failure=cut
            )
        calls = []
        for each in buffer.calls:
            arguments = each.arguments
            parsed = parse_strictly(arguments)
            if isinstance(parsed, UnparsedJson) and parsed.mendable:
                parsed = await self._mend_text(arguments, parsed)
            calls.append(WrittenCall(each.id, each.name, arguments, parsed))
        in_text: ParsedJson | UnparsedJson | None = None
        part = find_json_part(text) if text and not calls else None
        if part is not None:
            in_text = parse_strictly(part)
            if isinstance(in_text, UnparsedJson) and in_text.mendable:
                in_text = await self._mend_text(part, in_text)
        return ModelReply(text=text, calls=tuple(calls), reason=reason, usage=buffer.usage, parsed=in_text)

    async def _mend_text(self, text: str, unread: UnparsedJson) -> ParsedJson | UnparsedJson:
        with trio.move_on_after(REPAIR_TIMEOUT):
            return await self._run_sync(partial(mend_json, text))
        return unread


def _make_failure(error: ModelFailed | None) -> ReplyFailure:
    """Return the reason that an answer has no end: the failure of its model, or the end of its stream."""
    if error is None:
        return ReplyFailure("the answer ended before its end", "cut")
    return ReplyFailure(str(error), error.kind, error.retry_after)
