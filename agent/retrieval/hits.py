"""What the latest questions found in one snapshot of the knowledge base.

A snapshot never changes, so what a question found in it stays what it finds. The snapshot holds its own, and they go
with it: nothing ever has to be made void.
"""

from collections import OrderedDict
from typing import TypeAlias

from agent.config import HITS_KEPT, HITS_KEPT_CHARACTERS
from agent.ports.search import Hit, Lang, Query

_Key: TypeAlias = tuple[str, str, Lang, int]


class KeptHits:
    """The hits of the HITS_KEPT questions that were asked last. For one thread.

    A question is known by what a search looks at: its words, the question before it, its language and how many
    statements it wants; whose it is makes no difference.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[Hit, ...]] = OrderedDict()  # the one asked longest ago first

    def get(self, query: Query) -> tuple[Hit, ...] | None:
        """Return what a question found; None when that is not kept."""
        key = _key(query)
        hits = self._kept.get(key)
        if hits is not None:
            self._kept.move_to_end(key)
        return hits

    def keep(self, query: Query, hits: tuple[Hit, ...]) -> None:
        """Keep what a question found, unless the two are over HITS_KEPT_CHARACTERS; the oldest gives way."""
        snippets = [hit.snippet for hit in hits]
        held = sum([len(each.text) + len(each.said) + len(each.lead) for each in snippets])
        if len(query.text) + len(query.before) + held > HITS_KEPT_CHARACTERS:
            return
        self._kept[_key(query)] = hits
        if len(self._kept) > HITS_KEPT:
            self._kept.popitem(last=False)


def _key(query: Query) -> _Key:
    return query.text, query.before, query.lang, query.limit
