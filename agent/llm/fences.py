"""What was found or came back, as a model is shown it: data between fences that nothing in it can close; pure."""

import re
from collections.abc import Iterable, Sequence

from ..ports.search import Hit

_LEAST = 3  # marks of a fence
_FENCES = re.compile(r"`+")


def fence_for(texts: Iterable[str]) -> str:
    """Return a fence that is longer than any in some texts."""
    runs = (len(run) for text in texts for run in _FENCES.findall(text))
    return "`" * max(_LEAST, 1 + max(runs, default=0))


def evidence(hits: Sequence[Hit]) -> str:
    """Return snippets, numbered from 1, each between fences with where it stands."""
    texts = [shown(hit) for hit in hits]
    fence = fence_for(texts)
    return "\n\n".join(f"[{number}]\n{fence}\n{text}\n{fence}" for number, text in enumerate(texts, 1))


def fenced(text: str) -> str:
    """Return a text between fences."""
    fence = fence_for([text])
    return f"{fence}\n{text}\n{fence}"


def shown(hit: Hit) -> str:
    """Return a snippet with where it stands and what it hangs under."""
    snippet = hit.snippet
    above = " › ".join((snippet.file, *snippet.headings))
    return "\n".join(part for part in (above, snippet.lead, snippet.text) if part)
