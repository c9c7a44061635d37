"""How much of what users' messages have to remember the rules propose, and how much else: no model, no network.

`python -m tests.bench.proposals [FILE ...]`, by default those of `tests/intents/data` whose messages are labelled with
what is to be proposed (said how in `messages.txt`); `--list` prints what is missed and what is too much. A proposal is
right when its type is one that will do and its text holds the words it must. Precision is the share of what is proposed
that is right, recall the share of what is wanted that is proposed. What is right but approved where it ought to be
asked is counted by itself, as is what is asked where it is approved.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from agent.intents.item_proposals import ItemProposal, propose_items
from agent.lang import LANGUAGES, Lang

DATA = Path(__file__).parents[1] / "intents" / "data"
WORK, UNSEEN = DATA / "messages.txt", DATA / "messages_unseen.txt"
TODAY = date(2026, 5, 7)


@dataclass(frozen=True)
class Wanted:
    """What is to be proposed: one of some types, with some words. told: approved. optional: or nothing."""

    types: frozenset[str]
    words: tuple[str, ...]
    told: bool
    optional: bool

    def fits(self, proposal: ItemProposal) -> bool:
        """Tell whether a proposal is it."""
        candidate = proposal.candidate
        text = f"{candidate.text} {candidate.subject}".casefold()
        of = "done" if candidate.finishes else candidate.type
        return of in self.types and all(word.casefold() in text for word in self.words)


@dataclass(frozen=True)
class Message:
    """A message, with what is to be proposed of it."""

    lang: Lang
    text: str
    wanted: tuple[Wanted, ...]


@dataclass
class Count:
    """What came of some messages: numbers of proposals, and the messages with what they miss or have too much."""

    wanted: int = 0
    proposed: int = 0
    right: int = 0
    approved: int = 0  # though it ought to be asked
    asked: int = 0  # though it was ordered
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Return the share of what is proposed that is right."""
        return self.right / self.proposed if self.proposed else 1.0

    @property
    def recall(self) -> float:
        """Return the share of what is wanted that is proposed."""
        return self.right / self.wanted if self.wanted else 1.0


def messages(path: Path) -> Iterator[Message]:
    """Yield the messages of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            lang, text, wanted = (part.strip() for part in line.split("|", 2))
            code = next(each for each in LANGUAGES if each == lang)
            labels = tuple(_wanted(each.strip()) for each in wanted.split(";") if each.strip())
            yield Message(code, text.replace("\\n", "\n"), labels)


def _wanted(label: str) -> Wanted:
    head, _, words = label.partition(":")
    types = frozenset(head.strip("?! ").split("/"))
    return Wanted(types, tuple(words.strip().split(", ")), "!" in head, head.startswith("?"))


def counted(of: Sequence[Message]) -> Count:
    """Return what comes of some messages."""
    count = Count()
    for message in of:
        left = [*message.wanted]
        for proposal in propose_items(message.text, message.lang, "m1", TODAY):
            fitting = next((each for each in left if each.fits(proposal)), None)
            if fitting is None:
                count.proposed += 1
                count.wrong.append(
                    f"{proposal.candidate.type} {proposal.candidate.text!r} of {message.text!r}"
                )
                continue
            left.remove(fitting)
            if not fitting.optional:
                count.proposed += 1
                count.right += 1
                count.approved += proposal.ordered and not fitting.told
                count.asked += fitting.told and not proposal.ordered
        count.wanted += sum(not each.optional for each in message.wanted)
        count.missed += [
            f"{'/'.join(sorted(each.types))} of {message.text!r}" for each in left if not each.optional
        ]
    return count


def main(argv: Sequence[str]) -> int:
    """Print the figures of some files."""
    parser = argparse.ArgumentParser(description="how well the rules propose what is to be remembered")
    parser.add_argument("files", nargs="*", type=Path, default=[WORK, UNSEEN])
    parser.add_argument("--list", action="store_true", help="print what is missed and what is too much")
    given = parser.parse_args(argv)
    for path in given.files:
        read = [*messages(path)]
        for lang in LANGUAGES:
            count = counted([each for each in read if each.lang == lang])
            sys.stdout.write(
                f"{path.name} {lang}: precision {count.precision:.3f} ({count.right} of {count.proposed}), "
                f"recall {count.recall:.3f} ({count.right} of {count.wanted}); "
                f"approved unasked {count.approved}, asked though ordered {count.asked}\n"
            )
            if given.list:
                sys.stdout.writelines(f"  missed {each}\n" for each in count.missed)
                sys.stdout.writelines(f"  wrong {each}\n" for each in count.wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
