"""What was found or came back, as a model is shown it: data between fences that nothing in it can close; pure."""

from collections.abc import Sequence

from ..ports.search import Hit
from ..text.fences import fence_for, fenced

__all__ = ["evidence", "fence_for", "fenced", "shown"]


def evidence(hits: Sequence[Hit]) -> str:
    """Return snippets, numbered from 1, each between fences with where it stands."""
    texts = [shown(hit) for hit in hits]
    fence = fence_for(texts)
    return "\n\n".join(f"[{number}]\n{fence}\n{text}\n{fence}" for number, text in enumerate(texts, 1))


def shown(hit: Hit) -> str:
    """Return a snippet with where it stands and what it hangs under."""
    snippet = hit.snippet
    above = " › ".join((snippet.file, *snippet.headings))
    return "\n".join(part for part in (above, snippet.lead, snippet.text) if part)
