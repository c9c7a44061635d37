"""English words for dates by the day on which they are said."""

from ..dating import Dating

DATING = Dating(
    days={
        "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "right now": 0,
        "tomorrow": 1, "day after tomorrow": 2, "yesterday": -1, "last night": -1, "day before yesterday": -2,
    },
    weekdays={
        "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    },
    gone={},
    spans={"week": "week", "weekend": "weekend", "month": "month", "year": "year"},
    this=frozenset(("this", "the current", "the")),
    following=frozenset(("next", "the following", "the coming", "the upcoming", "coming", "upcoming")),
    last=frozenset(("last", "the past", "the previous", "past", "previous")),
    ahead=frozenset(("in", "within")),
    behind=frozenset(("from now", "from today")),
    ago=frozenset(("ago", "earlier")),
    each=frozenset(("every", "each", "every other", "every second", "every single")),
    per=frozenset(("the",)),
    one=frozenset(("once", "twice", "one", "a", "an")),
    on=frozenset(("is", "are", "is on", "are on", "will be on", "is due on", "are due on")),
    from_now=frozenset(("is in", "are in", "will be in", "is due in", "are due in")),
)  # fmt: skip
