"""The questions of users of tools, and the tools: some run in their server, some in their caller.

Of each kind one tool needs no approval, by its definition. The mock model calls a tool by the words that name it, with
arguments from the words of the message.
"""

import json
from pathlib import Path
from typing import Any

_ORDER: dict[str, Any] = {"type": "string", "description": "the number of the order"}
_COURIER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order": _ORDER,
        "note": {"type": "string", "description": "what the courier has to know"},
    },
    "required": ["order"],
}
_PARCEL: dict[str, Any] = {"type": "object", "properties": {"order": _ORDER}, "required": ["order"]}
_TEXT: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
OPERATORS: tuple[dict[str, Any], ...] = (
    {"name": "book_courier", "description": "Book a courier for an order.", "parameters": _COURIER},
    {
        "name": "find_parcel",
        "description": "Find where the parcel of an order is.",
        "parameters": _PARCEL,
        "requires_approval": False,
        "risk": "low",
    },
)
"""Those of the server's operator, which it runs at its webhook."""
CALLERS: tuple[dict[str, Any], ...] = (
    {"name": "remind_me", "description": "Write a reminder note.", "parameters": _TEXT},
    {
        "name": "count_stock",
        "description": "Count what is in stock of an order.",
        "parameters": _PARCEL,
        "requires_approval": False,
        "risk": "low",
    },
)
"""Those that come with a message, and that their caller runs."""
FREE = frozenset(each["name"] for each in (*OPERATORS, *CALLERS) if not each.get("requires_approval", True))
"""The names of those that need nobody's approval."""
EDITS: dict[str, tuple[str, tuple[str, ...]]] = {
    "book_courier": ("note", ("Ring the bell.", "Lämna den hos grannen.", "Mind the dog.")),
    "remind_me": ("text", ("call the shop again", "köp mjölk", "water the plants")),
}
"""The argument of a tool that users change, and to what."""
TICKET = "Please open a ticket: the parcel is broken"
COURIER = 'Book a courier for the order "A-{}"'
SAYINGS: tuple[tuple[str, tuple[dict[str, Any], ...]], ...] = (
    ("What does a return cost?", ()),
    (TICKET, ()),
    ("Please send an sms", ()),
    (COURIER, ()),
    (COURIER, ()),
    (COURIER, ()),
    ('Find the parcel of the order "A-{}"', ()),
    ('Write a reminder note: "call the shop"', CALLERS),
    ('Write a reminder note: "call the shop"', CALLERS),
    ('Count the stock of the order "A-{}"', CALLERS),
)
"""What users say over HTTP, with the tools that come along; where there are braces, with the number of an order."""
ORDERS = range(101, 113)
"""So few that what a server keeps of the texts that it has read is soon all there."""
BOOKING = next(place for place, (text, _) in enumerate(SAYINGS) if text == COURIER)
"""The place of one that leads to a call which waits for a yes."""


def write_file(path: Path) -> None:
    """Write the operator's file of tools. Blocks."""
    path.write_text(json.dumps({"tools": OPERATORS}), encoding="utf-8")
