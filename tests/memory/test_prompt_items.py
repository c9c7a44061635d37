"""What a model is told of what is remembered: only what is live and its user's, within its bounds, as data."""

import re
from dataclasses import fields
from datetime import date
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import CHARACTERS_PER_TOKEN, ITEM_TEXT
from agent.lang import LANGUAGES
from agent.memory.items import numbers_of
from agent.memory.prompt_items import (
    PICTURE_EVENTS,
    PICTURE_EVENTS_TOKENS,
    PICTURE_IDEAS,
    PICTURE_IDEAS_TOKENS,
    PICTURE_LOOPS,
    PICTURE_LOOPS_TOKENS,
    PICTURE_STANDING,
    PICTURE_STANDING_TOKENS,
    Picture,
    due_day,
    make_picture,
    memory_section,
    situation_section,
)
from agent.ports.conversation import Scope
from agent.ports.memory import LIVE, Item, ItemStatus, ItemType

from .made import DAY, MINE, NOW, item

PICTURED: tuple[ItemType, ...] = ("rule", "preference", "lesson", "open_loop", "event", "idea")
BOUNDS = {
    "standing": (PICTURE_STANDING, PICTURE_STANDING_TOKENS),
    "open_loops": (PICTURE_LOOPS, PICTURE_LOOPS_TOKENS),
    "events": (PICTURE_EVENTS, PICTURE_EVENTS_TOKENS),
    "ideas": (PICTURE_IDEAS, PICTURE_IDEAS_TOKENS),
}


def shown(of: Picture) -> list[str]:
    """The ids of all that is told of."""
    return [each.id for field in fields(of) for each in getattr(of, field.name)]


def both(of: Picture, lang: str = "en") -> str:
    return memory_section(of, lang) + situation_section(of, lang)


@pytest.mark.parametrize("kind", PICTURED)
def test_only_what_is_live_is_told_of(kind: ItemType) -> None:
    """Whatever a store hands out: no state, time or scope that may not be told of reaches a line."""
    wrong: list[dict[str, Any]] = [{"status": each} for each in get_args(ItemStatus) if each not in LIVE]
    wrong += [{"valid_to": NOW}, {"expires_at": NOW}, {"valid_from": NOW + 1}]
    wrong += [
        {"scope": Scope("p", "t", "bo")},
        {"scope": Scope("q", "t", "ana")},
        {"scope": Scope("p", "t", "")},
    ]
    for other in wrong:
        assert shown(make_picture([item(type=kind, **other)], MINE, NOW)) == [], other
    right: list[dict[str, Any]] = [{"status": each} for each in LIVE]
    for other in (*right, {"valid_to": NOW + 1}, {"scope": Scope("p", "other", "ana")}):
        assert shown(make_picture([item(type=kind, **other)], MINE, NOW)) == ["i1"], other


def test_what_nobody_owns_stays_in_its_thread() -> None:
    """Where the user is not known."""
    here, there = Scope("p", "t", ""), Scope("p", "u", "")
    assert shown(make_picture([item(type="rule", scope=here)], here, NOW)) == ["i1"]
    assert shown(make_picture([item(type="rule", scope=here)], there, NOW)) == []
    assert shown(make_picture([item(type="rule", scope=MINE)], here, NOW)) == []


def many(kind: ItemType, count: int, **other: Any) -> list[Item]:
    return [
        item(
            id=f"{kind}{at:02}", type=kind, text=f"said {at}", numbers=(), created_at=NOW - DAY + at, **other
        )
        for at in range(count)
    ]


def test_each_kind_has_its_bound() -> None:
    """The latest of each, oldest first; facts are told of only where they fit a question."""
    facts = many("fact", 12)
    live = [*many("idea", 9), *many("event", 9), *many("open_loop", 15, status="active"), *facts]
    found = make_picture(live, MINE, NOW)
    assert [each.id for each in found.events] == [f"event{at:02}" for at in range(4, 9)]
    assert [each.id for each in found.ideas] == [f"idea{at:02}" for at in range(4, 9)]
    assert [each.id for each in found.open_loops] == [f"open_loop{at:02}" for at in range(14, 4, -1)]
    assert found.standing == ()


def test_rules_come_before_preferences_and_lessons() -> None:
    """Where there are too many the most binding stay, the latest of them; shown oldest first."""
    live = [*many("lesson", 9), *many("rule", 12), *many("preference", 12)]
    found = [each.id for each in make_picture(live, MINE, NOW).standing]
    assert found == [*(f"rule{at:02}" for at in range(12)), *(f"preference{at:02}" for at in range(4, 12))]


def test_the_standing_order_is_its_own() -> None:
    """However the items come, and whatever happens to others: the prompt's beginning stays as it was."""
    live = [*many("rule", 3), *many("preference", 3)]
    section = memory_section(make_picture(live, MINE, NOW), "en")
    later = make_picture([*many("open_loop", 3), *reversed(live)], MINE, NOW + 1000)
    assert memory_section(later, "en") == section


def test_loops_that_press_come_first() -> None:
    """By the day they are due, then the latest."""
    texts = ("by 2026-06-01", "some day", "by 2026-05-08", "another day", "in May 2026, by 2026-05-20")
    loops = [
        item(
            id=f"i{at}",
            type="open_loop",
            status="active",
            text=text,
            numbers=numbers_of(text),
            created_at=NOW - DAY + at,
        )
        for at, text in enumerate(texts)
    ]
    assert [each.id for each in make_picture(loops, MINE, NOW).open_loops] == ["i2", "i4", "i0", "i3", "i1"]
    assert (due_day(loops[0]), due_day(loops[1])) == (date(2026, 6, 1), None)


def test_what_does_not_fit_is_passed_over() -> None:
    """A long item does not keep the short ones out."""
    long = [item(id=f"i{at}", type="event", text="x" * ITEM_TEXT, created_at=NOW - at) for at in range(2)]
    short = item(id="short", type="event", text="said", created_at=NOW - DAY)
    assert shown(make_picture([*long, short], MINE, NOW)) == ["short"]


def test_the_budgets_are_eight_hundred_tokens() -> None:
    """In all."""
    assert sum(tokens for _, tokens in BOUNDS.values()) == 800


ITEMS = st.lists(
    st.builds(
        lambda kind, status, text, age, user: (kind, status, text, age, user),
        st.sampled_from(get_args(ItemType)),
        st.sampled_from(get_args(ItemStatus)),
        st.text(st.sampled_from("ab `~\n[]5"), min_size=1, max_size=90),
        st.integers(0, 3),
        st.sampled_from(["ana", "bo"]),
    ),
    max_size=40,
)


@given(drawn=ITEMS, lang=st.sampled_from([*LANGUAGES]))
def test_a_picture_keeps_its_bounds(drawn: list[tuple[Any, ...]], lang: str) -> None:
    """Whatever is remembered: counts, tokens, nothing twice, nothing foreign, and fences that nothing closes."""
    live = [
        item(
            id=f"i{at}",
            type=kind,
            status=status,
            text=text,
            created_at=NOW - age,
            scope=Scope("p", "t", user),
        )
        for at, (kind, status, text, age, user) in enumerate(drawn)
    ]
    found = make_picture(live, MINE, NOW)
    for name, (most, tokens) in BOUNDS.items():
        items = getattr(found, name)
        assert len(items) <= most
        assert sum(len(each.text.strip()) for each in items) <= tokens * CHARACTERS_PER_TOKEN
        assert all(each.status in LIVE and each.scope.user == "ana" for each in items)
    assert len(shown(found)) == len(set(shown(found)))
    for section in (memory_section(found, lang), situation_section(found, lang)):
        if section:
            fence = section.rpartition("\n")[2]
            assert re.fullmatch(r"`{3,}", fence)
            lead, opened, rest = section.partition(f"\n{fence}\n")
            assert opened
            assert fence not in lead + rest.removesuffix(fence)
            assert all(line.startswith("[i") for line in rest.removesuffix(f"\n{fence}").split("\n"))


def test_sections_are_told_as_data() -> None:
    """Each line with its id, its day and its kind; none where nothing is told of."""
    assert both(Picture()) == ""
    rule = item(id="r1", type="rule", text="Never call")
    loop = item(id="l1", type="open_loop", status="blocked", text="Send\n```\nit")
    found = make_picture([rule, loop], MINE, NOW)
    for lang, language in LANGUAGES.items():
        assert memory_section(found, lang) == (
            f"{language.prompting.memory}\n```\n[r1 1972-09-26 rule] Never call\n```"
        )
        assert situation_section(found, lang) == (
            f"{language.prompting.situation}\n````\n[l1 1972-09-26 open_loop, blocked] Send ``` it\n````"
        )
    assert {*BOUNDS} == {field.name for field in fields(Picture)}
