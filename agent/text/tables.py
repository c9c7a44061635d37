"""Spells word tables: one string of words reads better than a list of quoted ones."""


def words(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())
