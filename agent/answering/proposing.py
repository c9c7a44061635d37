"""What a model proposes to remember within a turn.

Such a call goes through the gate as every call does, and is then carried out by nobody: what it proposes is made sound
and waits for the turn's end, with which it is handed over, to be stored as proposed and asked about. A turn that does
not end leaves nothing of it. Its sources are the message that is answered and, for each number, name or word that this
does not hold, the earlier message, document or result that does. What was answered is no source of it, nor what is
remembered already, but for the item that it would replace.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from ..config import ITEM_QUOTE, PROPOSALS_PER_TURN
from ..errors import BadItem
from ..grounding.evidence import shown
from ..lang import Lang
from ..ports.brain import Question
from ..ports.conversation import Exchange
from ..ports.decide import Act, Result
from ..ports.memory import Draft, Item, Source
from ..ports.remember import MEMORY_FILES, Memory
from ..ports.search import Hit
from ..ports.tools import ToolDefinition
from ..tools.proposing import UPDATE
from ..tools.sources import Sources, holders
from .calls import Sound, Wrong

TOOL_FILES: Final = "tool/"
_TOLD: Final = ("status: proposed; its user will be asked",)
_UNKNOWN: Final = Wrong(("/item: nothing of this id is remembered; propose it as something new",))
_FULL: Final = Wrong((f"{PROPOSALS_PER_TURN} proposals are the most of one message; answer now",))


@dataclass(slots=True)
class Proposing:
    """The proposals of one turn. tools: by which they are made, () where nothing is remembered."""

    question: Question
    lang: Lang
    memory: Memory | None
    tools: tuple[ToolDefinition, ...]
    drafts: list[Draft] = field(default_factory=list)
    made: dict[bytes, Result] = field(default_factory=dict)
    item: Item | None = None  # that the call which is looked at would replace

    def takes(self, name: str) -> bool:
        """Return whether a call of a tool proposes something."""
        return any(tool.name == name for tool in self.tools)

    async def sources(self, act: Act, hits: Sequence[Hit]) -> Sources:
        """Return where the arguments of such a call may come from.

        Its user's words, what was found and returned, and the item that it would replace; neither what was answered
        before nor what is remembered besides.
        """
        question = self.question
        remembered: tuple[str, ...] = ()
        self.item = None
        id = act.args.get("item")
        if act.tool == UPDATE and isinstance(id, str) and self.memory is not None:
            self.item = await self.memory.live(question, id.removeprefix(MEMORY_FILES))
        if self.item is not None:
            remembered = (f"{id} {self.item.text}",)
        asked = [each.question for each in question.history]
        return Sources(question.text, asked, remembered, [hit.snippet for hit in _new(hits)])

    def take(self, call: Sound, hits: Sequence[Hit], today: date) -> Result | Wrong:
        """Take what a call proposes, which waits for the turn's end; return what its model is told."""
        again = self.made.get(call.key)
        if again is not None:
            return again
        if call.tool.name == UPDATE and self.item is None:
            return _UNKNOWN
        if len(self.drafts) >= PROPOSALS_PER_TURN or self.memory is None:
            return _FULL
        given = call.proposal.payload
        subject, text = str(given.get("subject", "")), str(given["text"])
        about = self.item if self.item is not None else given.get("type", "fact")
        named = self._named((subject, text), _new(hits), today)
        try:
            draft = self.memory.drafted(self.question, about, subject, text, self.lang, named)
        except BadItem as error:
            return Wrong((error.message,))
        self.drafts.append(draft)
        id = f"proposal{len(self.drafts)}"
        self.made[call.key] = Result(id, call.tool.name, given, True, _TOLD)
        return self.made[call.key]

    def _named(self, values: Sequence[str], hits: Sequence[Hit], today: date) -> tuple[Source, ...]:
        """Return the sources beside the message itself: for each thing that it does not say, the first that does."""
        asked = [each for each in self.question.history if each.message]
        every = [
            *((each.question, _said(each)) for each in asked),
            *((shown(hit.snippet), _source(hit)) for hit in hits),
        ]
        places = holders(values, Sources(self.question.text), [text for text, _ in every], today)
        return tuple(every[place][1] for place in places)


def _new(hits: Sequence[Hit]) -> list[Hit]:
    return [hit for hit in hits if not hit.snippet.file.startswith(MEMORY_FILES)]


def _said(exchange: Exchange) -> Source:
    return Source("message", exchange.message, quote=exchange.question[:ITEM_QUOTE])


def _source(hit: Hit) -> Source:
    """Return what was found, or returned by a call, as an item's source."""
    snippet = hit.snippet
    quote = snippet.text[:ITEM_QUOTE]
    if snippet.file.startswith(TOOL_FILES):
        return Source("tool", snippet.file.removeprefix(TOOL_FILES), quote=quote)
    return Source("document", snippet.file, snippet.first, snippet.last, quote)
