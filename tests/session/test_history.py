"""What was said before, within its budget."""

from hypothesis import given
from hypothesis import strategies as st

from agent.config import CHARACTERS_PER_TOKEN
from agent.ports.conversation import Exchange
from agent.session.history import History

EXCHANGES = st.lists(st.builds(Exchange, st.text(max_size=30), st.text(max_size=60)), max_size=12)


def size(exchange: Exchange) -> int:
    """Return how many tokens an exchange is taken for."""
    return -(-len(exchange.question + exchange.answer) // CHARACTERS_PER_TOKEN)


@given(st.integers(0, 60), EXCHANGES)
def test_the_newest_are_kept_that_fit(most: int, exchanges: list[Exchange]) -> None:
    """In their order, without a gap, and no more than the budget; with none, nothing."""
    history = History(most)
    for exchange in exchanges:
        history.add(exchange)
    kept = list(history.kept)
    assert sum(map(size, kept)) <= most
    assert kept == exchanges[len(exchanges) - len(kept) :]
    older = exchanges[: len(exchanges) - len(kept)]
    assert not older or sum(map(size, kept)) + size(older[-1]) > most


def test_a_cancel_withdraws_what_was_asked_last() -> None:
    """And nothing before it, nor what is said from then on."""
    history = History(100)
    history.withdraw()
    for question in ("a", "b"):
        history.add(Exchange(question, "?"))
    history.withdraw()
    history.add(Exchange("c", "?"))
    assert [each.withdrawn for each in history.kept] == [False, True, False]
