"""Decides with a language model: offers it one tool, `decide`, whose arguments are the decision.

Strategy: the text that the model writes, as a call of `decide` or as plain text, is read strictly (`decision`). The
tools that can be called are not offered to the service: their names and schemas come from strangers, and services
refuse names with marks and schemas with unknown keywords. Every service takes the one flat schema, with or without a
grammar; a service that knows no tools is told to write the same as text. The request has no `form` for the same reason:
services that enforce a form allow no free-form arguments in it.

The parts that stay the same come first (`prompt_assembly`). Evidence and results stand behind the user's message in the
role of `tool`, as answers to calls, and never as the user's words or ours. A turn's next round only appends, so that a
service can cache everything before.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from ..config import ANSWER_TOKENS
from ..errors import BadDecision, ModelFailed
from ..ports.conversation import Exchange
from ..ports.decide import Briefing, Decision
from ..ports.model import CallDelta, Finish, LanguageModel, ModelRequest, NamedTool, TextDelta
from ..ports.search import Hit
from .decision import decode_decision
from .prompt_assembly import DECIDE, SEARCHED, assemble_decision, make_decide_tool
from .prompt_room import ModelContext, PromptRoom
from .settings import DECISION_MAX


class ModelDecider:
    """Decides with a language model (implements `agent.ports.decide.Decider`).

    `max_tokens`: of one decision. `context`: that of `model`.
    """

    def __init__(
        self, model: LanguageModel, max_tokens: int = ANSWER_TOKENS, context: ModelContext | None = None
    ) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self._room = PromptRoom(context)

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the model's decision.

        Raises `ModelFailed` as the model does, and when it declines; `BadDecision` when its text is no decision, is
        more than one, or was cut. When it is cancelled, the model's stream is closed first.
        """
        buffer = _DecisionBuffer()

        def make_request(history: Sequence[Exchange], evidence: Sequence[Hit]) -> ModelRequest:
            shorter = replace(briefing, history=tuple(history), evidence=tuple(evidence))
            return make_decision_request(shorter, problems, self._max_tokens)

        async with aclosing(
            self._room.stream(self._model, make_request, briefing.history, briefing.evidence)
        ) as pieces:
            async for piece in pieces:
                buffer.add_piece(piece)
        return decode_decision(buffer.join_text())


class _DecisionBuffer:
    """Collects the pieces of one decision."""

    def __init__(self) -> None:
        self._text = ""
        self._calls: dict[int, tuple[str, str]] = {}
        self._size = 0
        self._reason = ""

    def add_piece(self, piece: TextDelta | CallDelta | Finish) -> None:
        """Add the next piece.

        Raises `BadDecision` as soon as the text is too long; `ModelFailed` when the model declined.
        """
        if isinstance(piece, Finish):
            if piece.reason in ("refusal", "filtered"):
                raise ModelFailed("the model declined to decide", "request")
            self._reason = piece.reason
            return
        if isinstance(piece, TextDelta):
            self._text += piece.text
            self._size += len(piece.text)
        else:
            name, arguments = self._calls.get(piece.index, ("", ""))
            self._calls[piece.index] = (name or piece.name, arguments + piece.arguments)
            self._size += len(piece.arguments) + len(piece.name)
        if self._size > DECISION_MAX:
            raise BadDecision((f"a decision has at most {DECISION_MAX} characters",))

    def join_text(self) -> str:
        """Return the text of the decision: the arguments of the call of `decide`, else all text."""
        if self._reason == "length":
            raise BadDecision(("it was cut, since its tokens were spent: write less",))
        if not self._calls:
            return self._text
        if len(self._calls) > 1:
            raise BadDecision((f"{DECIDE} is called once: one decision at a time",))
        name, arguments = next(iter(self._calls.values()))
        if name != DECIDE:
            raise BadDecision((f"only {DECIDE} can be called; a tool of the list is named in its arguments",))
        return arguments


def make_decision_request(briefing: Briefing, problems: Sequence[str], max_tokens: int) -> ModelRequest:
    """Return the request for a decision. Raises `ModelFailed` for a prompt over its budget."""
    messages = assemble_decision(briefing, problems).messages
    tools = (make_decide_tool(briefing.tools, briefing.must_call), SEARCHED)
    return ModelRequest(
        messages=messages, tools=tools, choice=NamedTool(DECIDE), max_tokens=max_tokens, stable=1
    )
