"""Numbers by key are the same however they are held."""

import pytest

from agent.lexical.postings import Holders, PackedHolders, PackedPostings, Postings, array_of


def test_what_is_added_taken_over_and_settled_is_told_alike() -> None:
    """In its order; what comes later follows."""
    one = Postings()
    one.add(["a", "b"], 1)
    one.add(["b"], 2)
    other = Postings(one.pack())
    one.compact()
    for each in (one, other):
        each.add(["b", "c"], 3)
        assert [list(each.get(key)) for key in "abcd"] == [[1], [1, 2, 3], [3], []]
        again = Postings(each.pack())
        assert [list(again.get(key)) for key in "abcd"] == [[1], [1, 2, 3], [3], []]
        each.compact()
        assert [list(each.get(key)) for key in "abcd"] == [[1], [1, 2, 3], [3], []]


def test_holders_are_told_alike_too() -> None:
    """For keys that are numbers; one that nothing was added to has none."""
    one = Holders()
    one.add([0, 2], 1)
    one.add([2], 2)
    other = Holders(one.pack())
    one.compact()
    for each in (one, other):
        each.add([2, 4], 3)
        assert [list(each.get(key)) for key in range(6)] == [[1], [], [1, 2, 3], [], [3], []]
        again = Holders(each.pack())
        assert [list(again.get(key)) for key in range(6)] == [[1], [], [1, 2, 3], [], [3], []]
        each.compact()
        assert [list(each.get(key)) for key in range(6)] == [[1], [], [1, 2, 3], [], [3], []]
    packed = one.pack()
    with pytest.raises(ValueError, match="fit"):
        Holders(PackedHolders(packed.counts, packed.numbers[:-4]))


@pytest.mark.parametrize(
    ("keys", "counts", "numbers"), [(["a"], [2], [1]), (["a", "a"], [1, 1], [1, 2]), (["a"], [1, 1], [1, 2])]
)
def test_what_does_not_fit_is_refused(keys: list[str], counts: list[int], numbers: list[int]) -> None:
    """As an error of the value."""

    def held(values: list[int]) -> bytes:
        return b"".join([value.to_bytes(4, "little") for value in values])

    with pytest.raises(ValueError, match=r"fit|argument"):
        Postings(PackedPostings(keys, PackedHolders(held(counts), held(numbers))))
    with pytest.raises(ValueError, match="bytes length"):
        array_of(b"abc")
