"""Facts that are planted in made-up stories are found; one seed of what `python -m tests.bench.needles` measures."""

import pytest

from tests.bench.needles import LATER, MENTIONS, ROUNDS, SETS, StoryMaker, is_within, measure, read_words
from tests.share import count_runs

FIRST, *OTHERS = SETS
OF_THIS_TIME = OTHERS[count_runs() % len(OTHERS)]


@pytest.mark.parametrize("name", [FIRST, pytest.param(OF_THIS_TIME, marks=pytest.mark.proof)])
def test_what_was_planted_is_found(name: str) -> None:
    """Three hundred scenes later, in a branch, and nothing of another branch is; the whole has closer bounds."""
    tallies = measure(name, [0])
    everything = tallies.pop("all")
    assert len(tallies) == 10
    assert everything.foreign == 0
    assert everything.at5 / everything.count >= 0.85
    assert everything.at10 / everything.count >= 0.95
    assert all(each.count == ROUNDS and each.at10 / each.count >= 0.5 for each in tallies.values())


def test_a_story_is_what_it_claims() -> None:
    """The answers of a fact are in its lineage and 300 scenes back, five others name its thing, siblings lie."""
    story = StoryMaker(read_words("english"), 3).make(600, 1)
    texts = {each.version: each for each in story.scenes}
    assert len(texts) == len(story.scenes)
    for needle in story.needles:
        answers = [texts[each] for each in needle.answers]
        assert all(is_within(needle.lineage, each.branch, each.seq) for each in answers)
        assert max(each.seq for each in answers) == needle.lineage[0][1] - LATER
        thing = needle.thing
        naming = [each for each in story.scenes if thing in each.text.lower()]
        within = [each for each in naming if is_within(needle.lineage, each.branch, each.seq)]
        assert len(within) >= MENTIONS + 1
        assert len(within) < len(naming)
