"""What was said before, within its budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import CHARACTERS_PER_TOKEN, PROMPT_THREAD_BATCH
from agent.memory.repeats import Repeats
from agent.ports.conversation import Exchange
from agent.session.history import HISTORY_FREED, HISTORY_LEFT, History
from agent.session.settings import SessionSettings

EXCHANGES = st.lists(st.builds(Exchange, st.text(max_size=30), st.text(max_size=60)), max_size=40)


def size(exchange: Exchange) -> int:
    """Return how many tokens an exchange is taken for."""
    return -(-len(exchange.question + exchange.answer) // CHARACTERS_PER_TOKEN)


@given(st.integers(0, 200), EXCHANGES)
def test_the_newest_are_kept_that_fit(most: int, exchanges: list[Exchange]) -> None:
    """In their order, without a gap, and no more than the budget; with none, nothing. None goes while all fit."""
    history = History(most)
    before: list[Exchange] = []
    for number, exchange in enumerate(exchanges, 1):
        history.add(exchange)
        kept = list(history.exchanges)
        assert sum(map(size, kept)) <= most
        assert kept == exchanges[number - len(kept) : number]
        together = [*before, exchange]
        while sum(map(size, together)) > most and len(together) >= PROMPT_THREAD_BATCH + HISTORY_LEFT:
            together = together[PROMPT_THREAD_BATCH:]
        if sum(map(size, together)) <= most:
            assert kept == together
        else:
            freed = most - int(most * HISTORY_FREED)
            assert len(kept) <= 1 or sum(map(size, kept)) <= freed
            assert bool(kept) is (size(exchange) <= most)
            older = exchanges[number - len(kept) - 1]
            assert not kept or sum(map(size, kept)) + size(older) > freed
        before = kept


def starts(cost: int, most: int) -> list[int]:
    """At which exchange what is told of a conversation begins, before each of a hundred that cost so many tokens."""
    history = History(most)
    found = []
    for number in range(100):
        found.append(int(history.exchanges[0].question) if history.exchanges else 0)
        history.add(Exchange(f"{number:04}", "x" * (cost * CHARACTERS_PER_TOKEN - 4)))
    return found


@pytest.mark.parametrize("cost", [20, 60, 130])
def test_the_oldest_go_in_batches_of_ten(cost: int) -> None:
    """So that what a model reads of a conversation begins alike in at least nine turns of ten."""
    begins = starts(cost, SessionSettings().history_tokens)
    assert all(start % PROMPT_THREAD_BATCH == 0 for start in begins)
    assert begins[-1] > 0 or cost == 20
    assert len(set(begins)) - 1 <= 100 / PROMPT_THREAD_BATCH


def test_where_ten_are_nearly_all_less_goes() -> None:
    """A quarter of what fits: a conversation is not forgotten for the sake of a prompt's beginning."""
    begins = starts(10, 100)
    assert len(set(begins)) <= 100 * 10 / (100 * HISTORY_FREED) + 1
    assert all(number - start >= 7 for number, start in enumerate(begins[20:], 20))


def test_a_cancel_withdraws_what_was_asked_last() -> None:
    """And nothing before it, nor what is said from then on."""
    history = History(100)
    history.withdraw_last()
    for question in ("a", "b"):
        history.add(Exchange(question, "?"))
    history.withdraw_last()
    history.add(Exchange("c", "?"))
    assert [each.withdrawn for each in history.exchanges] == [False, True, False]


def test_what_is_said_again_of_it_is_let_go() -> None:
    """Whether its user says it or the agent, in whatever message."""
    history = History(1000)
    for message, question, answer in (
        ("a", "The code is Quetzal", "Noted"),
        ("b", "Prices?", "That code is Quetzal."),
        ("c", "That code is Quetzal?", "Yes"),
        ("", "I said the code is quetzal", "So?"),
    ):
        history.add(Exchange(question, answer, message=message))
    assert history.forget_messages([], repeats=Repeats(["The code is Quetzal"]))
    assert [each.message for each in history.exchanges] == ["c"]


def test_what_is_forgotten_makes_room() -> None:
    """And what has no message is nobody's to forget."""
    history = History(3 * size(Exchange("xxxx", "yyyyyyyyyyyy")))
    for message in ("a", "", "b"):
        history.add(Exchange("xxxx", "yyyyyyyyyyyy", message=message))
    assert (history.forget_messages(["c", ""]), len(history.exchanges)) == (False, 3)
    assert history.forget_messages(["a", "b"])
    assert [each.message for each in history.exchanges] == [""]
    for message in ("c", "d"):
        history.add(Exchange("xxxx", "yyyyyyyyyyyy", message=message))
    assert [each.message for each in history.exchanges] == ["", "c", "d"]


def test_what_cites_something_forgotten_is_forgotten() -> None:
    """Whoever keeps what was said may not know of it yet."""
    history = History(100)
    for message, cites in (("a", ("i1",)), ("", ("t2", "i7")), ("c", ("i11",)), ("d", ())):
        history.add(Exchange("?", "!", message=message, cites=cites))
    assert not history.forget_messages([], ["i9"])
    assert history.forget_messages([], ["i1", "t2", ""])
    assert [each.message for each in history.exchanges] == ["c", "d"]
