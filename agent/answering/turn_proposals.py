"""The memory items that a model proposes within a turn.

A proposing call passes the `CallGate` like every call, but has no executor: its item is checked and waits for the end
of the turn. The last event of the turn carries the item, which is then stored as `proposed` and shown to its user. A
turn that does not end leaves no proposal. The sources of an item are the present message and, for each number, name or
word that is not in the message, the earlier message, document or result that holds it. Earlier answers are no sources,
and neither are memory items, except the item that would be replaced.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from ..config import ITEM_QUOTE, PROPOSALS_PER_TURN
from ..errors import BadItem
from ..grounding.evidence import citation_text
from ..lang import Lang
from ..ports.brain import MemoryNotice, Question
from ..ports.conversation import Exchange
from ..ports.decide import Act, CallResult
from ..ports.memory import Draft, Item, Source
from ..ports.remember import MEMORY_FILES, Memory
from ..ports.search import Hit
from ..ports.tools import ToolDefinition
from ..tools.memory_tools import UPDATE, read_end
from ..tools.sources import SourceTexts, find_holders
from .calls import CheckedCall, InvalidCall

TOOL_FILES: Final = "tool/"
_PROPOSED_LINES: Final = ("status: proposed; its user will be asked",)
_BY_RULE_LINES: Final = ("status: accepted by rule, unless it contradicts something remembered",)
_BAD_END: Final = InvalidCall(("/expires_at: give a day, or a time with its offset",))
_UNKNOWN_ITEM: Final = InvalidCall(("/item: nothing of this id is remembered; propose it as something new",))
_TOO_MANY: Final = InvalidCall((f"{PROPOSALS_PER_TURN} proposals are the most of one message; answer now",))


@dataclass(slots=True, kw_only=True)
class TurnProposals:
    """The proposals of one turn. `tools`: the tools that propose, () where nothing is remembered."""

    question: Question
    lang: Lang
    memory: Memory | None
    tools: tuple[ToolDefinition, ...]
    drafts: list[Draft] = field(default_factory=list)
    results_by_key: dict[bytes, CallResult] = field(default_factory=dict)
    item: Item | None = None  # the item that the present call would replace

    def find_notice(self, beside: MemoryNotice | None) -> MemoryNotice | None:
        """Return the notice about memory of the turn's end: `beside`, its message's, or the one of its proposals."""
        if not self.drafts:
            return beside
        return beside or "noted" if all(draft.by_rule for draft in self.drafts) else "suggested"

    def is_proposing_tool(self, name: str) -> bool:
        """Tell whether `name` is a tool that proposes a memory item."""
        return any(tool.name == name for tool in self.tools)

    async def find_sources(self, act: Act, hits: Sequence[Hit]) -> SourceTexts:
        """Return the sources that the arguments of a proposing call may come from.

        These are the user's words, documents, results, and the item that the call would replace; neither earlier
        answers nor other memory items.
        """
        question = self.question
        item_texts: tuple[str, ...] = ()
        self.item = None
        id = act.args.get("item")
        if act.tool == UPDATE and isinstance(id, str) and self.memory is not None:
            self.item = await self.memory.find_live_item(question, id.removeprefix(MEMORY_FILES))
        if self.item is not None:
            item_texts = (f"{id} {self.item.text}",)
        earlier_messages = [each.question for each in question.history]
        return SourceTexts(
            question.text, earlier_messages, item_texts, [hit.snippet for hit in _drop_memory_hits(hits)]
        )

    def add_proposal(self, call: CheckedCall, hits: Sequence[Hit], today: date) -> CallResult | InvalidCall:
        """Add the item that `call` proposes, until the turn's end; return the result or problem for the model."""
        known_result = self.results_by_key.get(call.key)
        if known_result is not None:
            return known_result
        if call.tool.name == UPDATE and self.item is None:
            return _UNKNOWN_ITEM
        if len(self.drafts) >= PROPOSALS_PER_TURN or self.memory is None:
            return _TOO_MANY
        arguments = call.proposal.payload
        subject, text = str(arguments.get("subject", "")), str(arguments["text"])
        about = self.item if self.item is not None else arguments.get("type", "fact")
        sources = self._find_item_sources((subject, text), _drop_memory_hits(hits), today)
        end = arguments.get("expires_at")
        try:
            expires_at = None if end is None else read_end(str(end))
        except ValueError:
            return _BAD_END
        try:
            draft = self.memory.draft_item(
                self.question, about, subject, text, self.lang, sources, expires_at
            )
        except BadItem as error:
            return InvalidCall((error.message,))
        self.drafts.append(draft)
        id = f"proposal{len(self.drafts)}"
        self.results_by_key[call.key] = CallResult(
            call_id=id,
            tool=call.tool.name,
            arguments=arguments,
            ok=True,
            lines=_BY_RULE_LINES if draft.by_rule else _PROPOSED_LINES,
        )
        return self.results_by_key[call.key]

    def _find_item_sources(
        self, values: Sequence[str], hits: Sequence[Hit], today: date
    ) -> tuple[Source, ...]:
        """Return the sources beside the message: for each value that is not in the message, the first that has it."""
        exchanges = [each for each in self.question.history if each.message]
        sourced_texts = [
            *((each.question, _message_source(each)) for each in exchanges),
            *((citation_text(hit.snippet), _source_of(hit)) for hit in hits),
        ]
        places = find_holders(
            values, SourceTexts(self.question.text), [text for text, _ in sourced_texts], today
        )
        return tuple(sourced_texts[place][1] for place in places)


def _drop_memory_hits(hits: Sequence[Hit]) -> list[Hit]:
    return [hit for hit in hits if not hit.snippet.file.startswith(MEMORY_FILES)]


def _message_source(exchange: Exchange) -> Source:
    return Source("message", exchange.message, quote=exchange.question[:ITEM_QUOTE])


def _source_of(hit: Hit) -> Source:
    """Return a document's or result's hit as an item's source."""
    snippet = hit.snippet
    quote = snippet.text[:ITEM_QUOTE]
    if snippet.file.startswith(TOOL_FILES):
        return Source("tool", snippet.file.removeprefix(TOOL_FILES), quote=quote)
    return Source("document", snippet.file, snippet.first, snippet.last, quote)
