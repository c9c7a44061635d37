"""Puts the server's frames into words for a terminal: sources, outcomes, the reason why a connection was closed.

Each field that the server sends is cleaned before it is shown, names too, since a source or a webhook may hold
anything.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from ..protocol.asyncapi import CLOSE_CODES
from ..text.terminal import printable, printable_line
from .client import Frame

REFUSALS = {
    "no_sources": "refused: the knowledge base has nothing on this",
    "memory_unread": "refused: some of what is remembered cannot be read just now, ask again in a moment",
    "number_mismatch": "refused: the draft held a number that no source holds",
    "model_failed": "refused: the model failed or took too long",
}
CLOSED = {
    "expired": "expired before it was confirmed",
    "cancelled": "cancelled",
    "rejected": "declined",
    "answered": "answered in other words",
}
TO_CONFIRM = "To confirm it, ask in agent chat, on the chat page or over HTTP: POST /chat, then POST /calls/ID/approve."
SHOWN = 3  # sources of an answer that are shown with their lines
DEEPEST = 4  # levels of an action's result that are shown
UNAUTHORISED = 4401  # closes a WebSocket without its token


def describe_close(code: int) -> str:
    """Return the sentence for a closed connection, with the remedy where one is known."""
    advice = "; give the server's token with --token or AGENT_TOKEN" if code == UNAUTHORISED else ""
    return f"the connection was closed: {CLOSE_CODES.get(code, 'connection lost')} ({code}){advice}"


def describe_response(response: Frame) -> list[str]:
    """Return the lines after a response's text: the reason of a refusal, and the sources with their numbers.

    The first `SHOWN` sources are shown with the lines that are cited of them, the others by their places alone.
    """
    lines = []
    if "blocked" in response:
        code = response["blocked"]["code"]
        lines.append(f"({REFUSALS.get(code, 'refused')})")
    if response.get("withoutMemory"):
        lines.append("(without some of what is remembered, which could not be read or kept)")
    sources = group_sources(response["citations"])
    places = [f"[{number}] {_describe_place(source)}" for number, source in enumerate(sources, 1)]
    if sources:
        lines.append("Sources:")
    for place, source in zip(places[:SHOWN], sources, strict=False):
        lines.append(f"  {place}")
        snippets = [printable(citation["snippet"]).splitlines() for citation in source]
        lines += [f"    {line}" for line in dict.fromkeys(chain.from_iterable(snippets))]
    if places[SHOWN:]:
        lines.append(f"  {len(places) - SHOWN} more: {', '.join(places[SHOWN:])}")
    return lines


def group_sources(citations: Sequence[Frame]) -> list[list[Frame]]:
    """Return the citations of each section, the sections in the order of their numbers.

    A citation without a number, of another server, is a section of its own.
    """
    sources: dict[int, list[Frame]] = {}
    for place, citation in enumerate(citations, len(citations)):
        sources.setdefault(citation.get("source", place), []).append(citation)
    return [sources[number] for number in sorted(sources)]


def _describe_place(source: Sequence[Frame]) -> str:
    """Return the file of a section, the lines that are cited of it, and its headings."""
    cited = sorted({tuple(citation["lines"]) for citation in source if "lines" in citation})
    lines = ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in cited)
    heading = f" ({printable_line(source[0]['heading'])})" if source[0].get("heading") else ""
    return f"{printable_line(source[0]['file'])}{':' if lines else ''}{lines}{heading}"


def describe_delta(frame: Frame) -> str:
    """Return the next piece of a text, with the marks of its sources before the white space at its end."""
    delta = frame["delta"]
    return put_marks(delta, [(len(delta.rstrip()), frame.get("sources", ()))])


def put_marks(text: str, marks: Iterable[tuple[int, Sequence[int]]]) -> str:
    """Return a text with its marks, as in "299 kr. [1]". `marks`: places in it, in order, and the numbers there."""
    parts = []
    at = 0
    for end, numbers in marks:
        parts += [text[at:end], *(f" [{number}]" for number in numbers)]
        at = end
    return printable("".join([*parts, text[at:]]))


def describe_suggestions(suggestions: Sequence[Frame]) -> list[str]:
    """Return the lines for the actions that were suggested and can not be confirmed here; none for no suggestion."""
    lines = []
    for each in suggestions:
        lacking = ", ".join(map(printable_line, each.get("missing", ())))
        lacks = f"; still needed: {lacking}" if lacking else ""
        lines.append(f"Suggested, not done: {describe_action(each)}{lacks}")
    return [*lines, TO_CONFIRM] if lines else []


def describe_action(frame: Frame) -> str:
    """Return an action and its payload in words."""
    return f"{printable_line(frame['action'])} ({describe_value(frame['payload'])})"


def describe_missing(missing: Sequence[str]) -> str:
    """Return the missing fields as they are typed after /confirm and a number, each after a space; "" for none."""
    return "".join(f" {printable_line(name)}=..." for name in missing)


def parse_fields(typed: str, missing: Sequence[str]) -> dict[str, str] | None:
    """Return the fields that were typed as name=value; `None` unless exactly the `missing` fields were.

    A value extends up to the next name, so it may hold spaces.
    """
    names = "|".join(map(re.escape, missing)) or "(?!)"
    parts = re.split(rf"(?:^|\s+)({names})=", f" {typed.strip()}")
    values = {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}
    good = not parts[0].strip() and all(values.values()) and len(parts) == 2 * len(values) + 1
    return values if good and set(values) == set(missing) else None


def describe_outcome(result: Frame) -> str:
    """Return an action's result in words."""
    if result.get("success"):
        data = result.get("data", {})
        if data.get("recorded") is True:
            return "done: it was noted only, as this server carries nothing out"
        return f"done ({describe_value(data)})" if data else "done"
    if result.get("ignored"):
        return "ignored: it was confirmed before and runs only once"
    if result.get("expired"):
        return "not run: it was confirmed too late"
    if result.get("cancelled"):
        return "cancelled before it had any effect"
    if result.get("unknown"):
        return f"begun, but its outcome is not known: {printable_line(str(result.get('error', '')))}"
    return f"failed: {printable_line(str(result.get('error', '')))}"


def describe_value(value: Any, depth: int = 0) -> str:
    """Return a value of a result in words; lists and objects down to `DEEPEST` levels."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "yes", False: "no"}[value]
    if not isinstance(value, dict | list):
        return printable_line(str(value))
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, list):
        return ", ".join(describe_value(each, depth + 1) for each in value)
    return ", ".join(
        f"{printable_line(name)}: {describe_value(each, depth + 1)}" for name, each in value.items()
    )
