"""Five hundred questions, made from the knowledge base's own tables and headings, and some about nothing in it.

Each topic (a file and a heading) has its wordings, in its language; a table's cell asks for its row and column, a
heading is asked about as it stands. Half of the questions about a table say a wrong number of their own, since the
user's words are never a source.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CELL = {
    "en": (
        "What is the {column} for {row}?",
        "{row}: tell me the {column} please",
        "I want to know the {column} of {row}.",
    ),
    "sv": (
        "Vad är {column} för {row}?",
        "{row}: vilken {column} gäller?",
        "Jag undrar om {column} för {row}.",
    ),
}
# Topics whose tables are asked about in words of their own.
ROW = {
    ("pricing.md", "Plans"): ("What does the {row} plan cost?", "How many devices can the {row} plan have?"),
    ("pricing.md", "Devices"): ("How much is the {row}?", "What does a {row} cost?"),
    ("policies.md", "Warranty"): ("How long is the warranty on {row}?",),
    ("contact.md", "Phone numbers"): ("What is the phone number to {row}?",),
    ("contact.md", "Shops"): ("Where is the shop in {row}?",),
    ("opening-hours.md", "Shops"): ("When is the shop in {row} open?",),
    ("opening-hours.md", "Public holidays"): ("What are the opening hours on {row}?",),
    ("shipping.md", "Delivery in Sweden"): ("What does delivery by {row} cost?",),
    ("shipping.md", "Delivery abroad"): ("How long does delivery to {row} take?",),
    ("sv/pricing.md", "Paket"): ("Vad kostar paketet {row}?", "Hur många enheter ingår i paketet {row}?"),
    ("sv/pricing.md", "Enheter"): ("Vad kostar enheten {row}?", "Hur mycket är priset för {row}?"),
    ("sv/policies.md", "Garanti"): ("Hur lång garanti är det på {row}?",),
    ("sv/contact.md", "Telefonnummer"): ("Vad är telefonnumret till {row}?",),
    ("sv/contact.md", "Butiker"): ("Var ligger butiken i {row}?",),
    ("sv/opening-hours.md", "Butiker"): ("När är butiken i {row} öppen?",),
    ("sv/opening-hours.md", "Helgdagar"): ("Vilka öppettider gäller {row}?",),
    ("sv/shipping.md", "Leverans i Sverige"): ("Vad kostar leverans med {row}?",),
    ("sv/shipping.md", "Leverans utomlands"): ("Hur lång är leveranstiden till {row}?",),
}
SECTION = {
    "en": ("{heading}", "What applies to {heading}?", "Tell me about {heading}."),
    "sv": ("{heading}", "Vad gäller för {heading}?", "Berätta om {heading}."),
}
WRONG = {
    "en": (", is it 7777 kr?", ", 83 %?", ", 4321?"),
    "sv": (", är det 7777 kr?", ", 83 %?", ", 4321?"),
}
_ENGLISH = (
    "what is the capital of Mongolia",
    "xyz completely unrelated topic",
    "asdfghjkl qwertyuiop",
    "who painted the Mona Lisa",
    "how do volcanoes erupt",
    "translate bonjour into Latin",
    "best recipe for tiramisu",
    "who won the Nobel prize in physics in 1921",
    "how do whales breathe",
    "name three jazz saxophonists",
    "why is the sky blue",
    "what is quantum entanglement",
)
_SWEDISH = (
    "vem skrev Röda rummet",
    "vad heter Perus huvudstad",
    "hur bakar man surdegsbröd",
    "vilket grundämne har symbolen Fe",
    "vem vann melodifestivalen 1974",
    "hur bildas norrsken",
    "vad är fotosyntes",
    "öåäqwrt plkjmnb",
)
OFF_TOPIC = _ENGLISH + _SWEDISH


@dataclass(frozen=True)
class Asked:
    """A question in `lang`, and whether the knowledge base has something about it."""

    text: str
    lang: str
    on_topic: bool


@dataclass(frozen=True)
class _Section:
    file: str
    lang: str
    heading: str
    table: tuple[tuple[str, ...], ...]


def questions(kb: Path, count: int = 500) -> list[Asked]:
    """Return `count` different questions: the off-topic ones, and as many on-topic ones, spread over all topics."""
    on_topic = list(dict.fromkeys(_on_topic(kb)))
    wanted = count - len(OFF_TOPIC)
    assert len(on_topic) >= wanted, f"only {len(on_topic)} questions come out of the knowledge base"
    chosen = [on_topic[i * len(on_topic) // wanted] for i in range(wanted)]
    return chosen + [Asked(text, "sv" if text in _SWEDISH else "en", False) for text in OFF_TOPIC]


def _on_topic(kb: Path) -> Iterator[Asked]:
    for section in _sections(kb):
        heading = section.heading.rstrip("?")
        for wording in SECTION[section.lang][: 1 if section.heading.endswith("?") else None]:
            yield Asked(wording.format(heading=heading), section.lang, True)
        if not section.table:
            continue
        names, rows = section.table[0], section.table[1:]
        texts = [
            wording.format(row=row[0])
            for row in rows
            for wording in ROW.get((section.file, section.heading), ())
        ] + [
            CELL[section.lang][(number + again) % 3].format(row=row[0], column=column.lower())
            for row in rows
            for number, column in enumerate(names[1:])
            for again in range(2)
        ]
        for number, text in enumerate(texts):
            wrong = WRONG[section.lang][number // 2 % 3] if number % 2 else ""
            yield Asked(text.rstrip("?.") + wrong if wrong else text, section.lang, True)


def _sections(kb: Path) -> Iterator[_Section]:
    for path in sorted(kb.rglob("*.md")):
        file = path.relative_to(kb).as_posix()
        for part in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            heading, *lines = part.splitlines()
            table = [
                tuple(cell.strip() for cell in line.strip("| ").split("|"))
                for line in lines
                if line.startswith("|") and "---" not in line
            ]
            yield _Section(file, "sv" if file.startswith("sv/") else "en", heading, tuple(table))
