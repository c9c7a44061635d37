"""Swedish words for dates by the day on which they are said."""

from ..dating import Dating

DATING = Dating(
    days={
        "idag": 0, "i dag": 0, "ikväll": 0, "i kväll": 0, "nu": 0, "imorgon": 1, "i morgon": 1, "imorron": 1,
        "i morron": 1, "övermorgon": 2, "i övermorgon": 2, "igår": -1, "i går": -1, "förrgår": -2, "i förrgår": -2,
    },
    weekdays={
        "måndag": 0, "måndagen": 0, "tisdag": 1, "tisdagen": 1, "onsdag": 2, "onsdagen": 2, "torsdag": 3,
        "torsdagen": 3, "fredag": 4, "fredagen": 4, "lördag": 5, "lördagen": 5, "söndag": 6, "söndagen": 6,
    },
    gone={
        "måndags": 0, "tisdags": 1, "onsdags": 2, "torsdags": 3, "fredags": 4, "lördags": 5, "söndags": 6,
    },
    spans={
        "vecka": "week", "veckan": "week", "helg": "weekend", "helgen": "weekend", "månad": "month",
        "månaden": "month", "år": "year", "året": "year",
    },
    this=frozenset(("den här", "denna", "i", "detta", "det här")),
    following=frozenset(("nästa", "kommande")),
    last=frozenset(("förra", "senaste")),
    ahead=frozenset(("om", "inom")),
    behind=frozenset(("från nu", "från idag")),
    ago=frozenset(("sedan", "sen")),
    each=frozenset(("varje", "var", "vart", "varannan", "vartannat", "var tredje")),
    per=frozenset(("i",)),
    one=frozenset(("en", "ett")),
    on=frozenset(("på", "nu på", "är")),
    from_now=frozenset(("om", "inom")),
)  # fmt: skip
