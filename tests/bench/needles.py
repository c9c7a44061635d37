"""Figures of recall in stories: `python -m tests.bench.needles [--seeds 10] [--words english ...]`.

Made-up stories of 600 scenes, each seed another, in which facts are planted; five other scenes name the same thing and
answer nothing. Each fact is asked for 300 scenes after it. A sibling branch says something else of the same things, and
so does the parent after the cut. Recall@5 and @10 are the share of the scenes with the fact among the best; `foreign`
counts scenes of another branch, of which there may be none.

The kinds: exact; pronoun (the thing is named in the sentence before); other word (the question has another verb);
number; place by number; spoken; event; two facts (in two scenes, both needed); moved (both places needed); latest.
`english` and `swedish` are what recall was looked at with; `unseen_english` and `unseen_swedish` have other words and
sentences, written after the code and never tuned on.
"""

import argparse
import random
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from agent.lang import Lang
from agent.recall.bounds import Lineage
from agent.stories.scene_recall import IndexedScene, SceneIndex
from agent.testing.network import inline

DATA = Path(__file__).parents[1] / "data" / "needles"
SETS = ("english", "unseen_english", "swedish", "unseen_swedish")
SCENES, LATER, MENTIONS = 600, 300, 5
STATEMENTS = (7, 12)  # of a scene, at least and at most, besides what is planted
ROUNDS = 4  # facts of each kind in a story
CUT = 150  # the scene after which the branches part
PARENT, BRANCH, SIBLING = 1, 2, 3

Vocabulary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Needle:
    """A question about `thing`, asked in `lineage`, that the scenes `answers` (version ids) answer together."""

    kind: str
    thing: str
    question: str
    lineage: Lineage
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class NeedleStory:
    """A story with its planted facts. `places`: the known ones."""

    scenes: tuple[IndexedScene, ...]
    needles: tuple[Needle, ...]
    places: tuple[str, ...]


class StoryMaker:
    """Makes one story of a vocabulary. Each thing is used once."""

    def __init__(self, words: Vocabulary, seed: int) -> None:
        self.words = words
        self.random = random.Random(seed)
        self.extra: dict[tuple[int, int], list[str]] = defaultdict(list)
        self.needles: list[Needle] = []
        things = [(one, other) for one in words["things"] for other in words["kinds"]]
        self.random.shuffle(things)
        self.things = iter(things)

    def make(self, scenes: int, rounds: int) -> NeedleStory:
        """Return a story of `scenes` scenes a branch with `rounds` facts of each kind."""
        for _ in range(rounds):
            for needle in self.words["needle"]:
                self.plant(needle, scenes)
        told = [
            IndexedScene(f"{branch}.{seq}", branch, seq, self.scene(branch, seq))
            for branch in (PARENT, BRANCH, SIBLING)
            for seq in range(1 if branch == PARENT else CUT + 1, scenes + 1)
        ]
        return NeedleStory(
            tuple(told), tuple(self.needles), tuple(each["name"] for each in self.words["places"])
        )

    def fill(self, sentence: str, slots: Mapping[str, str]) -> str:
        """Return `sentence` with its slots filled, at random where `slots` has none, and a capital letter."""
        filler = self.words["filler"]
        given = {name: self.random.choice(filler[name]) for name in filler if name != "sentences"}
        given["p"], given["q"] = self.random.sample(self.words["persons"], 2)
        place = self.random.choice(self.words["places"])
        given |= {
            "at_the": place.get("plain", self.words["to_place"].format(place["name"])),
            "inside": place["phrases"][0],
        }
        text = sentence.format_map(given | dict(slots))
        at = 1 if text[0] in '"”' else 0
        return text[:at] + text[at].upper() + text[at + 1 :]

    def scene(self, branch: int, seq: int) -> str:
        """Return the text of a scene, with what is planted somewhere in it."""
        sentences = self.words["filler"]["sentences"]
        texts = [
            self.fill(self.random.choice(sentences), {}) for _ in range(self.random.randint(*STATEMENTS))
        ]
        for each in self.extra[branch, seq]:
            texts.insert(self.random.randrange(len(texts) + 1), each)
        cut = len(texts) // 2
        return " ".join(texts[:cut]) + "\n\n" + " ".join(texts[cut:])

    def slots(self, needle: Vocabulary) -> dict[str, str]:
        """Return words for the slots of a fact."""
        words, pick = self.words, self.random
        one, other = pick.sample(words["persons"], 2)
        here, there = pick.sample(words["places"], 2)
        adjective, noun = next(self.things)
        return {
            "p": one,
            "q": other,
            "pronoun": words["pronouns"].get(one, words["pronoun"]),
            "thing": words["thing"].format(adjective=adjective, noun=noun),
            "at": pick.choice(here["phrases"]),
            "to": pick.choice(there["phrases"]),
            "n": pick.choice(words["numbers"]),
            "nth": pick.choice(words["ordinals"]),
            "word": pick.choice(words["words"]),
            "trade": pick.choice(needle.get("trade", [""])),
        }

    def plant(self, needle: Vocabulary, scenes: int) -> None:
        """Plant a fact on one lineage, another one of the same thing beside it, and the five scenes that name it."""
        slots, pick = self.slots(needle), self.random
        branch = pick.choice((PARENT, BRANCH))
        last = pick.randint(scenes // 20 + 20, scenes - LATER * scenes // SCENES)
        asked_at = last + LATER * scenes // SCENES
        plants = needle["plants"]
        seqs = [*sorted(pick.sample(range(1, last), len(plants) - 1)), last]
        answers: list[str] = []
        for seq, sentences in zip(seqs, plants, strict=True):
            home = PARENT if seq <= CUT else branch
            self.extra[home, seq].append(self.fill(pick.choice(sentences), slots))
            answers.append(f"{home}.{seq}")
        if needle.get("latest"):
            answers = answers[-1:]
        free = [seq for seq in range(max(1, last - 100), asked_at) if seq not in seqs]
        for seq in pick.sample(free, MENTIONS):
            text = self.fill(pick.choice(self.words["mentions"]["sentences"]), {"thing": slots["thing"]})
            self.extra[PARENT if seq <= CUT else branch, seq].append(text)
        false = self.slots(needle) | {"thing": slots["thing"], "p": slots["p"], "trade": slots["trade"]}
        others = {PARENT, BRANCH, SIBLING} - {branch}
        for other in others:
            for sentences in plants:
                seq = pick.randint(CUT + 1, scenes)
                self.extra[other, seq].append(self.fill(pick.choice(sentences), false))
        ends = (PARENT, asked_at) if branch == PARENT else (branch, asked_at)
        lineage: Lineage = (ends,) if branch == PARENT else (ends, (PARENT, min(CUT, asked_at)))
        question = self.fill(pick.choice(needle["asks"]), slots)
        self.needles.append(Needle(needle["kind"], slots["thing"], question, lineage, frozenset(answers)))


def read_words(name: str) -> Vocabulary:
    """Return the vocabulary of a set."""
    return tomllib.loads((DATA / f"{name}.toml").read_text())


def index_story(story: NeedleStory, lang: Lang) -> SceneIndex:
    """Return the index of a story, written."""
    index = SceneIndex(lang)
    index.set_places(story.places)
    trio.run(index.add_scenes, story.scenes, inline)
    return index


@dataclass(slots=True)
class Tally:
    """`at5`, `at10`: sums of the shares found. `foreign`: scenes outside the lineage."""

    count: int = 0
    at5: float = 0.0
    at10: float = 0.0
    foreign: int = 0


def is_within(lineage: Lineage, branch: int, seq: int) -> bool:
    """Tell whether a scene is in a lineage."""
    return seq <= dict(lineage).get(branch, -1)


def measure(name: str, seeds: Sequence[int], scenes: int = SCENES, rounds: int = ROUNDS) -> dict[str, Tally]:
    """Return the figures of a set by kind, and of all as "all"."""
    words = read_words(name)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for seed in seeds:
        story = StoryMaker(words, seed).make(scenes, rounds)
        index = index_story(story, words["lang"])
        for needle in story.needles:
            found = index.recall(needle.lineage, needle.question, 10).scenes
            versions = [each.version for each in found]
            for tally in (tallies[needle.kind], tallies["all"]):
                tally.count += 1
                tally.at5 += len(needle.answers.intersection(versions[:5])) / len(needle.answers)
                tally.at10 += len(needle.answers.intersection(versions)) / len(needle.answers)
                tally.foreign += sum(not is_within(needle.lineage, each.branch, each.seq) for each in found)
    return tallies


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--words", nargs="*", default=SETS, choices=SETS)
    arguments = parser.parse_args()
    for name in arguments.words:
        say(name)
        for kind, tally in measure(name, range(arguments.seeds)).items():
            shares = f"@5 {tally.at5 / tally.count:.3f}  @10 {tally.at10 / tally.count:.3f}"
            say(f"  {kind:16} {tally.count:5}  {shares}  foreign {tally.foreign}")


if __name__ == "__main__":
    main()
