"""`Extractor`: asks a language model for values until they hold, or says why not.

Strategy: all rules are in `rounds`; here its requests are carried to the model and the answers back, one at a time and
in the caller's own task, so that a cancel reaches the model's stream directly and closes it. Nothing is left behind but
at worst a worker thread that mends a text, for which nobody waits longer than `REPAIR_TIMEOUT`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial

import trio

from ..config import REPAIR_TIMEOUT
from ..errors import ModelFailed
from ..host import Threads
from ..ports.model import Choice, LanguageModel, Message, Named, Request, Tool
from ..ports.work import RunSync
from . import telling
from .decode import Read, Unread, mended, object_or_array, strict
from .gathering import Gathering
from .growing import Watch
from .messages import Asked, BadInput, messages_of
from .outcome import Doc, Outcome, Partial
from .plan import BadRequest, Held, Names, Plan, allowed_by, held
from .rounds import Rounds
from .schema import BadSchema, GivenTool, Shape, shape_of
from .written import Failed, Reply, Written

__all__ = ["Doc", "Extractor", "Outcome", "Partial", "Partials"]


class Partials:
    """The calls of one request while they are written; an async iterator of `Partial`.

    Only the first answer is shown as it grows; what the rounds of repair make of it is in the outcome.
    """

    def __init__(self, steps: AsyncGenerator[Partial | Outcome, None]) -> None:
        self._steps = steps
        self._outcome: Outcome | None = None

    @property
    def outcome(self) -> Outcome:
        """What came of it, once the iteration has ended. Raises RuntimeError before."""
        if self._outcome is None:
            raise RuntimeError("the outcome is there when the partials have been read to their end")
        return self._outcome

    def __aiter__(self) -> AsyncIterator[Partial]:
        return self

    async def __anext__(self) -> Partial:
        async for step in self._steps:
            if isinstance(step, Partial):
                return step
            self._outcome = step
        raise StopAsyncIteration


class Extractor:
    """Turns what a model writes into values that hold. It keeps nothing between requests, which may run side by side.

    Args:
        model: Whom to ask.
        tools: What to ask for: types with a msgspec schema, `Tool`s, or mappings with a JSON Schema (OpenAI's,
            Anthropic's and MCP's forms). One that cannot work makes every outcome `invalid`.
        max_attempts: How often the model is asked for one request, at most, whatever for; at least 1.
        max_tokens: Of one answer; doubled once when an answer is cut by it.
        native: Offer the model tools. Without, it is asked for JSON in its text, which is also read when a model
            ignores its tools.
        run_sync: Mends texts that are not quite JSON, off the loop; worker threads of its own where none is given.

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
        self._run_sync = run_sync or Threads(1)
        self._wrong = ""
        self._shapes: dict[str, Shape] = {}
        try:
            for given in tools:
                shape = shape_of(given)
                if shape.name in self._shapes:
                    raise BadSchema(f"two tools are called {shape.name}")
                self._shapes[shape.name] = shape
        except BadSchema as error:
            self._wrong = str(error)
        self._names = Names.free_of(self._shapes)

    async def extract(self, asked: Asked, choice: Choice | Named = Choice.REQUIRED) -> Outcome:
        """Return the calls that a model makes of what is asked, each valid or with what is wrong with it.

        asked: a text, a Message, or a list of Messages and OpenAI-style dicts, which are left as they are.
        choice: whether a call is due; with AUTO no call is an answer too (`Outcome.text`).
        Raises nothing but what a model raises against its port. Cancelled, it closes the model's stream first.
        """
        return await self._begun(self._plan(asked, choice))

    async def update(
        self,
        asked: Asked,
        docs: Mapping[str, Doc],
        *,
        inserts: bool = True,
        deletes: bool = False,
        edits: bool = True,
        choice: Choice | Named = Choice.REQUIRED,
    ) -> Outcome:
        """Return what a model makes of documents that exist, by their ids, which the caller chose.

        inserts, deletes, edits: what is offered; anything else that a model tries is an error of that call.
        choice: as `extract` has it; Named may name a tool, or `edit` or `remove`.
        The values given are not changed: what nobody edits comes back as it is. Raises and is cancelled as `extract`.
        """
        return await self._begun(self._update(asked, docs, (inserts, deletes, edits), choice))

    @asynccontextmanager
    async def stream(
        self, asked: Asked, choice: Choice | Named = Choice.REQUIRED
    ) -> AsyncGenerator[Partials, None]:
        """Do as `extract`, and show the calls while they are written. Leaving early closes the model's stream."""
        async with aclosing(self._watched(self._plan(asked, choice))) as steps:
            yield Partials(steps)

    # --- plans

    def _plan(self, asked: Asked, choice: Choice | Named) -> Plan | str:
        """Return what a model is asked, or why it cannot be."""
        try:
            if self._wrong:
                raise BadRequest(self._wrong)
            allowed = allowed_by(choice, self._shapes)
            tools = tuple(self._shapes[name].tool for name in allowed)
            messages = messages_of(asked)
            return self._made(messages, allowed, tools, choice)
        except (BadRequest, BadInput) as error:
            return str(error)

    def _update(
        self, asked: Asked, docs: Mapping[str, Doc], enabled: tuple[bool, bool, bool], choice: Choice | Named
    ) -> Plan | str:
        inserts, deletes, edits = enabled
        names = self._names
        try:
            if self._wrong:
                raise BadRequest(self._wrong)
            offered: dict[str, Tool] = {}
            if docs and edits:
                offered[names.edit] = telling.edit_tool(names, docs)
            if inserts:
                offered |= {name: shape.tool for name, shape in self._shapes.items()}
            if docs and deletes:
                offered[names.remove] = telling.remove_tool(names, docs)
            chosen = allowed_by(choice, offered)
            tools = tuple(offered[name] for name in chosen)
            inserted = tuple(name for name in chosen if name in self._shapes)
            exist = held(docs, self._shapes)
            messages = messages_of(asked)
            if exist:
                shown = [tool.name for tool in tools]
                messages = (Message("system", telling.documents(exist, shown)), *messages)
            return self._made(messages, inserted, tools, choice, exist)
        except (BadRequest, BadInput) as error:
            return str(error)

    def _made(
        self,
        messages: tuple[Message, ...],
        allowed: tuple[str, ...],
        tools: tuple[Tool, ...],
        choice: Choice | Named,
        exist: Mapping[str, Held] | None = None,
    ) -> Plan:
        """Return a plan with the bounds of this extractor. tools: all that is offered at first."""
        named = {tool.name for tool in tools}
        exist = exist or {}
        only = allowed[0] if len(allowed) == 1 and not exist and choice is not Choice.AUTO else None
        if not self._native:
            messages = (Message("system", telling.tools_in_text(tools, only)), *messages)
        return Plan(
            messages,
            self._shapes,
            allowed,
            tools,
            self._names,
            choice,
            only,
            self._native,
            self._max_attempts,
            self._max_tokens,
            exist,
            edits=self._names.edit in named,
            deletes=self._names.remove in named,
        )

    # --- rounds

    async def _begun(self, plan: Plan | str) -> Outcome:
        if isinstance(plan, str):
            return Outcome("invalid", errors=(plan,))
        rounds = Rounds(plan)
        return await self._ended(rounds, rounds.request())

    async def _ended(self, rounds: Rounds, step: Request | Outcome) -> Outcome:
        """Return what comes of it all, from this step on."""
        while isinstance(step, Request):
            gathering, failed = Gathering(), None
            try:
                async with aclosing(self._model.stream(step)) as pieces:
                    async for piece in pieces:
                        gathering.take(piece)
                        if gathering.reason is not None:
                            break
            except ModelFailed as error:
                failed = error
            step = rounds.feed(await self._reply(gathering, failed))
        return step

    async def _watched(self, plan: Plan | str) -> AsyncGenerator[Partial | Outcome, None]:
        """Yield the partials of the first answer, and at last the outcome."""
        if isinstance(plan, str):
            yield Outcome("invalid", errors=(plan,))
            return
        rounds = Rounds(plan)
        step: Request | Outcome = rounds.request()
        while isinstance(step, Request) and not rounds.begun:
            gathering, failed = Gathering(), None
            watch = Watch(plan, rounds.ids())
            try:
                async with aclosing(self._model.stream(step)) as pieces:
                    async for piece in pieces:
                        gathering.take(piece)
                        if gathering.reason is not None:
                            break
                        shown = watch.take(piece, trio.current_time())
                        if shown is not None:
                            yield shown
            except ModelFailed as error:
                failed = error
            for shown in watch.rest():
                yield shown
            step = rounds.feed(await self._reply(gathering, failed))
        yield await self._ended(rounds, step)

    async def _reply(self, gathering: Gathering, failed: ModelFailed | None) -> Reply:
        """Return a whole answer, read; of one that is cut nothing is read."""
        reason, text = None if failed else gathering.reason, gathering.text
        if reason not in ("stop", "calls"):
            unread = Unread("it was cut", "")
            calls = tuple(Written(each.id, each.name, "", unread) for each in gathering.calls)
            cut = _failed(failed) if reason is None else None
            return Reply(text, calls, reason or "stop", gathering.usage, failed=cut)
        written = []
        for each in gathering.calls:
            arguments = each.arguments
            read = strict(arguments)
            if isinstance(read, Unread) and read.mendable:
                read = await self._mend(arguments, read)
            written.append(Written(each.id, each.name, arguments, read))
        in_text: Read | Unread | None = None
        part = object_or_array(text) if text and not written else None
        if part is not None:
            in_text = strict(part)
            if isinstance(in_text, Unread) and in_text.mendable:
                in_text = await self._mend(part, in_text)
        return Reply(text, tuple(written), reason, gathering.usage, in_text)

    async def _mend(self, text: str, unread: Unread) -> Read | Unread:
        with trio.move_on_after(REPAIR_TIMEOUT):
            return await self._run_sync(partial(mended, text))
        return unread


def _failed(error: ModelFailed | None) -> Failed:
    """Return why an answer has no end: its model said so, or said nothing more."""
    if error is None:
        return Failed("the answer ended before its end", "cut")
    return Failed(str(error), error.kind, error.retry_after)
