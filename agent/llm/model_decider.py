"""Makes a decider of a language model: it is offered one tool, `decide`, whose arguments are the decision.

Strategy: whatever the model writes, as a call of `decide` or as a text, is the text of a decision and is read strictly
(`decision`). The tools to be called are not offered to the service themselves: their names and schemas are anybody's,
and services refuse names with marks and schemas with words that they do not know. One flat schema is taken by all, with
or without a grammar; a service that knows no tools is told to write the same as a text. For the same reason there is no
`form`: services that enforce one take no arguments of any form in it.

What stays the same comes first (`assembling`). What was found and what came back stands behind the user's message in
the role of tools, as answers to calls: never the user's words or ours. A turn's next round only adds to that, so that a
service can keep its work on all before.
"""

from collections.abc import Sequence
from contextlib import aclosing

from ..config import ANSWER_TOKENS, DECISION_MAX
from ..errors import BadDecision, ModelFailed
from ..ports.decide import Briefing, Decision
from ..ports.model import CallDelta, Finished, LanguageModel, Named, Request, TextDelta
from .assembling import DECIDE, SEARCHED, decide_tool, decision
from .decision import decode


class ModelDecider:
    """Decides with a language model (implements `agent.ports.decide.Decider`). max_tokens: of a decision."""

    def __init__(self, model: LanguageModel, max_tokens: int = ANSWER_TOKENS) -> None:
        self._model = model
        self._max_tokens = max_tokens

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the model's decision.

        Raises `ModelFailed` as the model does, and when it declines; `BadDecision` when what it wrote is none, is more
        than one, or was cut. Cancelled, the model's stream is closed before it returns.
        """
        written = _Written()
        async with aclosing(self._model.stream(request(briefing, problems, self._max_tokens))) as pieces:
            async for piece in pieces:
                written.take(piece)
        return decode(written.decision())


class _Written:
    """What a model has written."""

    def __init__(self) -> None:
        self._text = ""
        self._calls: dict[int, tuple[str, str]] = {}
        self._size = 0
        self._reason = ""

    def take(self, piece: TextDelta | CallDelta | Finished) -> None:
        """Take its next piece. Raises `BadDecision` as soon as it is too long; `ModelFailed` when it declined."""
        if isinstance(piece, Finished):
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

    def decision(self) -> str:
        """Return the text of the decision: what `decide` was called with, else all that was said."""
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


def request(briefing: Briefing, problems: Sequence[str], max_tokens: int) -> Request:
    """Return what a language model is asked for a decision. Raises `ModelFailed` for a prompt over its budget."""
    messages = decision(briefing, problems).messages
    tools = (decide_tool(briefing.tools), SEARCHED)
    return Request(messages, tools, Named(DECIDE), max_tokens=max_tokens, stable=1)
