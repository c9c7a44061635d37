"""Finds the day that a clause names: the day to come that a fact is about, and the day on which something is due."""

from datetime import date

from ..numbers import days
from ..numbers.number_tokens import tokens
from ..text.words import fold


def find_coming_day(text: str, today: date) -> date | None:
    """Return the only day after `today` that `text` names or means, whether it tells of the past or of the future.

    None where there is no such day, or where the words may mean several.
    """
    days = [each for each in _days(text, today) if each > today]
    return days[0] if len(days) == 1 and days[0] in _days(text, today, sure=True) else None


def find_due_day(text: str, today: date) -> date | None:
    """Return the first day after `today` that `text` names or means as one to come, else `today` where it means that.

    None for days that come again and again ("every Monday").
    """
    days = _days(text, today)
    return min((each for each in days if each > today), default=today if today in days else None)


def find_event_day(text: str, today: date, past: bool) -> tuple[bool, date | None]:
    """Return whether `text` names or means a day, and which; None where the words may mean several.

    `past`: the day is not after `today`, else it is not before it.
    """
    days = _days(text, today)
    possible = [each for each in days if (each <= today if past else each >= today)]
    return bool(days), possible[0] if len(possible) == 1 else None


def _days(text: str, today: date, sure: bool = False) -> frozenset[date]:
    number_tokens = tokens(text, source=True)
    mentions = days.find_mentions(fold(text), text, number_tokens)
    meant = [each.meaning for each in mentions if not each.often and (each.sure or not sure)]
    return days.find_dates(text, number_tokens) | days.all_days(meant, today)
