"""Twenty price lists in both languages: their facts may be said in every way, and at no other rate."""

from tests.bench.price_lists import answers, judged


def test_price_lists() -> None:
    """No number is told at another rate than its list says, and hardly a good answer is blocked."""
    blocked, passed = judged()
    assert passed == []
    assert len(blocked) <= 0.02 * sum(answer.right for answer in answers())
