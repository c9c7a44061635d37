"""Many texts in one piece of memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.recall.columns import TextColumn

ALL = st.lists(st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\0ÿåé😀")))


def filled(*texts: str) -> TextColumn:
    made = TextColumn()
    for each in texts:
        made.append(each)
    return made


def all_of(made: TextColumn) -> list[str]:
    return [made[at] for at in range(len(made))]


@given(ALL)
def test_each_is_as_it_was_given(texts: list[str]) -> None:
    """Whatever letters it has, also half of one."""
    made = filled(*texts)
    assert len(made) == len(texts)
    assert all_of(made) == texts
    with pytest.raises(IndexError):
        made[len(texts)]


@given(ALL.filter(len), st.data())
def test_of_what_is_gone_no_letter_is_left(texts: list[str], data: st.DataObject) -> None:
    """The others stay, and more may come."""
    at = data.draw(st.integers(0, len(texts) - 1))
    made = filled(*texts)
    made.clear_text(at)
    made.append("later")
    assert all_of(made) == [*texts[:at], "", *texts[at + 1 :], "later"]


def test_it_is_written_over() -> None:
    """Who looks at the memory itself does not find it."""
    made = filled("one", "quetzal", "two")
    made.clear_text(1)
    held = vars(made)["_bytes"]
    assert b"etzal" not in held
    assert b"one" in held
