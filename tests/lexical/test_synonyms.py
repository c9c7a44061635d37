"""Lists of words that ask for one thing."""

from agent.lexical.synonyms import parse_synonyms


def synonyms(text: str) -> dict[str, set[str]]:
    """Return what each word of a file is a synonym of."""
    return {word: set(others) for word, others in parse_synonyms(text.encode()).of.items()}


def test_a_line_is_a_group_of_words_that_ask_for_the_same() -> None:
    """Folded; comments and single words say nothing; a word in two groups is a synonym of all their words."""
    text = "\ufeff# price cost\n\n  # tariff\nPrice  fee\tÅSNA\r\nfee toll\nalone\nsame same\n"
    assert synonyms(text) == {
        "price": {"fee", "åsna"},
        "fee": {"price", "åsna", "toll"},
        "åsna": {"price", "fee"},
        "toll": {"fee"},
        "alone": set(),
        "same": set(),
    }
