"""What was said before, within its budget."""

from hypothesis import given
from hypothesis import strategies as st

from agent.config import CHARACTERS_PER_TOKEN, HISTORY_FREED
from agent.ports.conversation import Exchange
from agent.session.history import History

EXCHANGES = st.lists(st.builds(Exchange, st.text(max_size=30), st.text(max_size=60)), max_size=12)


def size(exchange: Exchange) -> int:
    """Return how many tokens an exchange is taken for."""
    return -(-len(exchange.question + exchange.answer) // CHARACTERS_PER_TOKEN)


@given(st.integers(0, 60), EXCHANGES)
def test_the_newest_are_kept_that_fit(most: int, exchanges: list[Exchange]) -> None:
    """In their order, without a gap, and no more than the budget; with none, nothing. None goes while all fit."""
    history = History(most)
    before: list[Exchange] = []
    for number, exchange in enumerate(exchanges, 1):
        history.add(exchange)
        kept = list(history.kept)
        assert sum(map(size, kept)) <= most
        assert kept == exchanges[number - len(kept) : number]
        if sum(map(size, before)) + size(exchange) <= most:
            assert kept == [*before, exchange]
        else:
            freed = most - int(most * HISTORY_FREED)
            assert len(kept) <= 1 or sum(map(size, kept)) <= freed
            assert bool(kept) is (size(exchange) <= most)
            older = exchanges[number - len(kept) - 1]
            assert not kept or sum(map(size, kept)) + size(older) > freed
        before = kept


def test_the_oldest_go_in_batches() -> None:
    """So that what a model reads of a conversation begins alike for a few turns."""
    history = History(100)
    firsts = []
    for number in range(100):
        history.add(Exchange(f"{number:03}", "x" * 9))
        firsts.append(history.kept[0].question)
    assert len(set(firsts)) <= 100 * size(Exchange("000", "x" * 9)) / (100 * HISTORY_FREED) + 1


def test_a_cancel_withdraws_what_was_asked_last() -> None:
    """And nothing before it, nor what is said from then on."""
    history = History(100)
    history.withdraw()
    for question in ("a", "b"):
        history.add(Exchange(question, "?"))
    history.withdraw()
    history.add(Exchange("c", "?"))
    assert [each.withdrawn for each in history.kept] == [False, True, False]


def test_what_is_forgotten_makes_room() -> None:
    """And what has no message is nobody's to forget."""
    history = History(3 * size(Exchange("xxxx", "yyyyyyyyyyyy")))
    for message in ("a", "", "b"):
        history.add(Exchange("xxxx", "yyyyyyyyyyyy", message=message))
    assert (history.forget(["c", ""]), len(history.kept)) == (False, 3)
    assert history.forget(["a", "b"])
    assert [each.message for each in history.kept] == [""]
    for message in ("c", "d"):
        history.add(Exchange("xxxx", "yyyyyyyyyyyy", message=message))
    assert [each.message for each in history.kept] == ["", "c", "d"]
