"""The choice of citations: the smallest set, what the answer uses, then the best hits."""

from collections.abc import Sequence
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.grounding.binding import names_of
from agent.grounding.citations import EXACT, SAYS, Span, Steps, choose_citations, choose_places, find_uses
from agent.grounding.verify import verify
from agent.ports.search import Hit, Passage, Snippet


def test_smallest_set_wins_over_rank() -> None:
    """One snippet that supports both numbers is chosen before two better hits that support one each."""
    assert choose_citations([0b01, 0b10, 0b11], fill=0) == (2,)


def test_better_hit_wins_among_equals() -> None:
    """Of two snippets that support the same, the better hit is cited."""
    assert choose_citations([0, 0b1, 0b1], fill=0) == (1,)


def test_fills_up_with_the_best() -> None:
    """The best hits fill up while there are fewer than three citations, and none is cited twice."""
    assert choose_citations([0, 0, 0, 0b1, 0]) == (0, 1, 3)


def test_as_many_as_it_takes() -> None:
    """More than three numbers in as many snippets are all cited."""
    assert choose_citations([1 << i for i in range(7)]) == tuple(range(7))


def test_nothing_to_cite() -> None:
    """Without snippets nothing is cited; without numbers the best three are."""
    assert (choose_citations([]), choose_citations([0, 0, 0, 0])) == ((), (0, 1, 2))


def test_greedy_beyond_the_exact_size() -> None:
    """With very many useful snippets the choice still covers everything."""
    masks = [1 << i | 1 << (i + 1) % 20 for i in range(20)]
    chosen = choose_citations(masks, fill=0)
    covered = 0
    for index in chosen:
        covered |= masks[index]
    assert len(masks) > EXACT
    assert covered == (1 << 20) - 1
    assert len(chosen) <= 14


@given(st.lists(st.integers(0, 63), max_size=6))
def test_no_smaller_set_covers(masks: list[int]) -> None:
    """The chosen set covers what can be covered, and no smaller one does."""
    chosen = choose_citations(masks, fill=0)
    needed = 0
    for mask in masks:
        needed |= mask
    sizes = []
    for pick in range(1 << len(masks)):
        covered = 0
        for index, mask in enumerate(masks):
            covered |= mask if pick >> index & 1 else 0
        if covered == needed:
            sizes.append(pick.bit_count())
    assert len(chosen) == min(sizes)


# --- what an answer uses


def snippets(*texts: str) -> list[Snippet]:
    return [Snippet(file="kb/a.md", text=text, first=line, last=line) for line, text in enumerate(texts, 1)]


FOUND = snippets(
    "The keypad has batteries.", "The keypad has two batteries and a siren.", "Returns are free.", "Hello."
)


def find_places(said: str, found: Sequence[Snippet]) -> dict[int, tuple[Span, ...]]:
    """Return the parts of an answer that each snippet holds; none is read, since no number is looked for."""
    try:
        next(choose_places(find_uses(said, found), (), lambda index: pytest.fail(f"{index} is read")))
    except StopIteration as end:
        places: dict[int, tuple[Span, ...]] = end.value
        return places
    raise AssertionError


def find_used(said: str, found: Sequence[Snippet]) -> tuple[int, ...]:
    """Return the indexes of the snippets that hold a part of an answer."""
    return tuple(find_places(said, found))


def test_each_sentence_uses_the_snippet_that_says_most_of_it() -> None:
    """Also when a better hit says some of it; sentences, rows and items are looked at one by one."""
    assert find_used("The keypad has batteries and a siren.", FOUND) == (1,)
    assert find_used("Returns are free. The keypad has batteries and a siren.", FOUND) == (2, 1)
    assert find_used("- Returns: free\n- Siren: keypad", FOUND) == (2, 1)


@pytest.mark.parametrize("text", ["KEYPAD", "Straße", "İSTANBUL", "ΚΩΣ.Α", "ΚΩΣ’Α"])
def test_a_sentence_uses_a_snippet_that_says_it_in_other_letters(text: str) -> None:
    """Also where a capital letter becomes small by its neighbours: of a sigma, in the whole text or in its word."""
    word = text.split(".")[0].split("’")[0]
    for said in (word, word.lower(), word.upper()):
        shares = not names_of(said).isdisjoint(names_of(text))
        assert find_used(said, snippets(text)) == ((0,) if shares else ())
    assert find_used(word, snippets(text)) == (0,)


def test_among_equals_what_is_cited_already_is_used_then_the_best_hit() -> None:
    """So that two sentences out of one snippet cite one."""
    assert find_used("The keypad has batteries.", FOUND) == (0,)
    assert find_used("The siren has batteries. The keypad has batteries.", FOUND) == (1,)


def test_among_equals_the_one_that_is_quoted_is_used() -> None:
    """Also when a better hit, or one that is cited already, has the same words and other numbers."""
    found = [
        Snippet(
            file="kb/a.md",
            text=f"**The plan** costs {price} kr.",
            first=price,
            last=price,
            plain_text=f"The plan costs {price} kr.",
        )
        for price in (149, 299, 599)
    ]
    assert find_used("From here:\n- The plan costs 299 kr.", found) == (1,)
    assert set(find_used("The plan costs 599 kr. The plan costs 299 kr.", found)) == {1, 2}
    assert find_used("The plan costs 300 kr.", found) == (0,)


def test_a_sentence_uses_the_snippet_that_holds_its_numbers() -> None:
    """Where others have the same words or more of them, and one is cited already."""
    student = Snippet(file="kb/a.md", text="Standard for students: 239.20 kr per month.", first=1, last=1)
    row = Snippet(file="kb/a.md", text="| Plan | Price per month |\n| Standard | 299 kr |", first=4, last=4)
    said = "Standard for students: 239.20 kr per month. Standard for all: 299 kr per month."
    found = verify(said, [Hit(each, Passage("kb/a.md", (), "en", (each,)), 0.9) for each in (student, row)])
    assert found.text is not None
    parts = [[said[start:end] for start, end in spans] for spans in found.text.places]
    assert found.text.citations == (student, row)
    assert parts == [["Standard for students: 239.20 kr per month."], ["Standard for all: 299 kr per month."]]


def test_snippets_are_read_up_to_the_first_that_holds_all_numbers() -> None:
    """The likeliest first; one that holds some of a sentence's numbers does not end the search for one with more."""
    found = snippets(
        "The new siren costs 449 kr.",
        "The new siren costs 449 kr and lasts 3 years.",
        "The new siren costs 449 kr and lasts 3 years, 2 batteries.",
        "The new siren.",
    )
    said = "The new siren costs 449 kr and lasts 3 years."
    held = {0: 0b01, 1: 0b01, 2: 0b11, 3: 0b00}
    read: list[int] = []

    def read_mask(index: int) -> Steps[int]:
        read.append(index)
        yield 1
        return held[index]

    def choose(numbers: Sequence[int]) -> tuple[int, ...]:
        steps = choose_places(find_uses(said, found), numbers, read_mask)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return tuple(end.value)

    numbers = (said.index("449"), said.index("3 years"))
    assert (choose(numbers), read) == ((2,), [1, 2])
    read.clear()
    held[2] = 0b00
    assert (choose(numbers), read) == ((1,), [1, 2, 0, 3])
    read.clear()
    held[1] = 0b11
    assert (choose(numbers), read) == ((1,), [1])


def test_a_line_that_leads_into_others_uses_none() -> None:
    """The heading that an answer names before a quotation is not a claim of another snippet."""
    assert find_used("From “The keypad has batteries”:\nReturns are free.", FOUND) == (2,)


def test_a_sentence_that_no_snippet_says_uses_none() -> None:
    """Less than half of its content words is no saying; a sentence without one names nothing."""
    assert SAYS == 0.5
    assert find_used("The keypad opens windows.", FOUND) == ()
    assert find_used("The keypad opens.", FOUND) == (0,)
    assert find_used("It is 5. And so on!", FOUND) == ()
    assert find_used("", FOUND) == find_used("Returns are free.", ()) == ()


def test_each_part_of_an_answer_has_its_place() -> None:
    """Of a quotation, and of each sentence that says a snippet; counted in code points, so a smiley is one."""
    said = "Hello 🙂.\n- Returns are free.\nThe keypad has batteries and a siren."
    found = [Snippet(file="a", text="returns: free", first=1, last=1, plain_text="Returns are free."), *FOUND]
    places = find_places(said, found)
    assert {index: [said[start:end] for start, end in spans] for index, spans in places.items()} == {
        0: ["Returns are free."],
        2: ["The keypad has batteries and a siren."],
        4: ["Hello 🙂."],
    }
    assert places[0] == ((11, 28),)


def test_a_snippet_that_holds_two_sentences_has_both() -> None:
    """In the order of the text."""
    said = "The keypad has batteries. Returns are free. The keypad has batteries."
    assert find_places(said, FOUND) == {0: ((0, 25), (44, 69)), 2: ((26, 43),)}


@pytest.mark.parametrize(
    ("rest", "end"),
    [("99 kr", 11), (" 990 kr", 13), ("", 6), ("\nMore.", 6), (". More.", 13), (", more.\nMore.", 13)],
)
def test_a_part_ends_with_its_sentence_and_never_within_a_number(rest: str, end: int) -> None:
    """A quotation may go on in the answer; its part then goes to the end of the line."""
    found = [Snippet(file="a", text="Fee: 2", first=1, last=1, plain_text="Fee: 2")]
    assert find_places(f"Fee: 2{rest}", found)[0][0] == (0, end)


def test_what_is_used_is_cited_and_only_what_numbers_need_besides() -> None:
    """A snippet that is cited anyhow serves for the numbers that it supports; nothing fills up."""
    assert choose_citations([0b01, 0b10, 0b11], 1, (0,)) == (0, 1)
    assert choose_citations([0b01, 0b10, 0b11], 1, (2,)) == (2,)
    assert choose_citations([0b1, 0, 0b1], 1, (1, 2)) == (1, 2)
    assert choose_citations([0, 0], 1, ()) == (0,)
    assert choose_citations([0b1, 0b1], 1, ()) == (0,)


def test_quotes_are_looked_for_in_linear_time() -> None:
    """Also what a draft repeats and a snippet says over and over."""
    found = [
        Snippet(file="kb/a.md", text="a b", first=1, last=1, plain_text=("a b " * 300)[:-at])
        for at in range(1, 41)
    ]
    began = thread_time()
    find_used("x" + "a b " * 8_000, found)
    assert thread_time() - began < 0.5
