"""Made-up talks in which only a number with its unit tells one turn from the others, and questions for them."""

from dataclasses import dataclass

from agent.lang import Lang
from agent.ports.memory import StoredTurn

from .made import turn

_THINGS: dict[Lang, str] = {
    "en": (
        "roof fence garden visa parcel kitchen course bridge harvest license move stove piano lamp tent bike sofa desk "
        "boat coat camera carpet mirror kettle"
    ),
    "sv": (
        "taket staketet trädgården visumet paketet köket kursen bron skörden licensen flytten spisen pianot lampan "
        "tältet cykeln soffan bordet båten rocken kameran mattan spegeln kitteln"
    ),
}
_SAYS: dict[Lang, tuple[str, str, str, str]] = {
    "en": (
        "In the end the {} took {}, I had hoped for less.",
        "By the way, the {} cost {} in the sale.",
        "What took {}?",
        "What did I buy that cost {}?",
    ),
    "sv": (
        "Till slut tog {} {}, jag hade hoppats på mindre.",
        "Förresten kostade {} {} på rean.",
        "Vad tog {}?",
        "Vad köpte jag som kostade {}?",
    ),
}
_LENGTHS: dict[Lang, tuple[tuple[str, ...], ...]] = {  # as it is said, as it is asked for
    "en": (
        ("14 days", "14 days"),
        ("14 months", "fourteen months"),
        ("14 weeks", "14 weeks"),
        ("three weeks", "3 weeks"),
        ("3 hours", "three hours"),
        ("13 days", "13 days"),
        ("three months", "3 months"),
        ("15 months", "15 months"),
        ("30 days", "thirty days"),
        ("30 minutes", "30 minutes"),
        ("13 weeks", "13 weeks"),
        ("15 hours", "15 hours"),
    ),
    "sv": (
        ("14 dagar", "14 dagar"),
        ("14 månader", "fjorton månader"),
        ("14 veckor", "14 veckor"),
        ("tre veckor", "3 veckor"),
        ("3 timmar", "tre timmar"),
        ("13 dagar", "13 dagar"),
        ("tre månader", "3 månader"),
        ("15 månader", "15 månader"),
        ("30 dagar", "trettio dagar"),
        ("30 minuter", "30 minuter"),
        ("13 veckor", "13 veckor"),
        ("15 timmar", "15 timmar"),
    ),
}
_PRICES: tuple[tuple[str, str], ...] = (
    ("299 kr", "299 kr"),
    ("$299", "$299"),
    ("€299", "299 euro"),
    ("229 kr", "229 SEK"),
    ("$229", "229 dollar"),
    ("1 299 kr", "1299 kr"),
    ("$1,299", "1299 USD"),
    ("€1299", "€1,299"),
    ("450 kr", "450 kronor"),
    ("450 EUR", "€450"),
    ("450 USD", "$450"),
    ("45 kr", "45 kr"),
)


@dataclass(frozen=True)
class Asked:
    """A question, and the turn that answers it."""

    text: str
    answered_by: str


def talk(lang: Lang) -> tuple[tuple[StoredTurn, ...], tuple[Asked, ...]]:
    """Return a talk in which each length and each price is said of one thing, and what is asked about them."""
    took, cost, what, which = _SAYS[lang]
    things = iter(_THINGS[lang].split())
    said = [(took.format(next(things), length), what.format(asked)) for length, asked in _LENGTHS[lang]]
    said += [(cost.format(next(things), price), which.format(asked)) for price, asked in _PRICES]
    turns = [turn(n, text, sitting=n) for n, (text, _) in enumerate(said, 1)]
    asked = [Asked(question, f"m{n}") for n, (_, question) in enumerate(said, 1)]
    return tuple(turns), tuple(asked)
