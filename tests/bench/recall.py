"""Figures of recall: how much of what answers a question it finds, what it leaves out, how long it takes.

`python -m tests.bench.recall DIR`, where DIR holds dialogues as JSON lines (`{"dialogue", "speakers", "turns": [{"id",
"session", "at", "speaker", "text"}], "questions": [{"question", "category", "evidence"}]}`, with `"lang"` where its
questions are not English), such as LoCoMo's with corrected evidence, or `tests/memory/recall/data`, made-up Swedish
ones; it is left out where there are none. Recall@10 is the share of a question's evidence turns among the ten best,
inside its dialogue, over the categories 1 to 4. Category 5 has no answer in it: with questions of other dialogues these
tell how well abstention works. `--chats FOLDER` takes long chats of a user and an assistant besides, one folder each
with chat.json and probing_questions/probing_questions.json, as BEAM has them under chats/100K.

Beside it: the arms by themselves, their ranks summed (RRF), and with vectors where an embedder is installed.
"""

import argparse
import json
import random
import resource
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

import trio

from agent.embedding.open import choose, open_embedder
from agent.embedding.threaded import Threaded
from agent.errors import UsageError
from agent.heap import share_heaps
from agent.host import WorkerThreads
from agent.lang import Lang
from agent.memory.recall.recall import IndexRecaller
from agent.memory.recall.search import IndexSearch, VectorArm
from agent.ports.change_mark import ChangeMark
from agent.ports.conversation import Scope
from agent.ports.embed import Embedder
from agent.ports.memory import Remark, StoredTurn
from agent.ports.recall import Reach, RecallQuery, RecallResult
from agent.ports.recall_store import ChangeListener, Changes, GroupRows, ScopeGroup
from agent.recall.bounds import ReachBounds
from agent.recall.index import RecallIndex
from agent.recall.query import read_query
from agent.recall.rank import Arm
from agent.recall.sureness import FLOOR

KINDS = {
    "contradiction_resolution",
    "information_extraction",
    "knowledge_update",
    "multi_session_reasoning",
    "preference_following",
    "temporal_reasoning",
}
"""Of chats: those whose questions name the messages that answer them, and ask for these only."""
ANSWERED = {1, 2, 3, 4}
NO_ANSWER = 5
FOREIGN = 150  # questions of other dialogues that each one is asked
K = 10


@dataclass(frozen=True)
class Question:
    """text, kind, and the ids of the turns that answer it."""

    text: str
    kind: Any
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Talk:
    """A dialogue: what was said, what is asked, and when that is."""

    name: str
    turns: tuple[StoredTurn, ...]
    questions: tuple[Question, ...]
    at: int
    lang: Lang = "en"

    @property
    def scope(self) -> Scope:
        """Return whose it is."""
        return Scope("", self.name, "")


class Said:
    """What is kept, all of it turns."""

    def __init__(self, turns: Sequence[StoredTurn]) -> None:
        self._turns = turns

    async def changes_after(self, after: ChangeMark, limit: int) -> Changes:
        """Return the next turns."""
        found = tuple(self._turns[after.number : after.number + limit])
        return Changes(found, (), ChangeMark(after.number + len(found)), more=len(found) == limit)

    async def find_last_change(self) -> ChangeMark:
        """Return the place after all turns."""
        return ChangeMark(len(self._turns))

    async def load_group(self, group: ScopeGroup, limit: int) -> GroupRows:
        """Return all turns."""
        numbers = range(1, len(self._turns) + 1)
        return GroupRows(numbers, tuple(self._turns[:limit]), (), ChangeMark(len(self._turns)))

    async def load_turns(self, numbers: Sequence[int]) -> tuple[StoredTurn, ...]:
        """Return the turns of these numbers."""
        return tuple(self._turns[number - 1] for number in numbers)

    async def citable_ids(self, ids: Collection[str], at: int) -> frozenset[str]:
        """Return that all may be cited."""
        return frozenset(ids)

    async def listen_for_changes(self, hear: ChangeListener) -> None:
        """Tell nothing."""

    def count_unheard_writes(self) -> int:
        """Return that nothing has changed."""
        return 0


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def dialogues(folder: Path) -> list[Talk]:
    """Return the dialogues of a folder's JSON lines."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "turns" in row and "questions" in row:
                found.append(_dialogue(row))
    return found


def _dialogue(row: dict[str, Any]) -> Talk:
    scope = Scope("", row["dialogue"], "")
    turns = tuple(
        StoredTurn(
            number,
            scope,
            Remark(
                message=each["id"],
                role="user",
                text=each["text"],
                at=_ms(each["at"]),
                speaker=each["speaker"],
                blocked=False,
                sitting=each["session"],
            ),
        )
        for number, each in enumerate(row["turns"], 1)
    )
    known = {each.remark.message for each in turns}
    asked = tuple(
        Question(each["question"], each["category"], tuple(id for id in each["evidence"] if id in known))
        for each in row["questions"]
    )
    return Talk(row["dialogue"], turns, asked, turns[-1].remark.at, row.get("lang", "en"))


def _ms(at: str) -> int:
    return int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)


def chats(folder: Path) -> list[Talk]:
    """Return the chats of a folder of folders."""
    return [
        _chat(path)
        for path in sorted(folder.glob("*/chat.json"), key=lambda path: (len(path.parent.name), path))
    ]


def _chat(path: Path) -> Talk:
    """Return one chat: batches of turns of messages, each with its id; some messages say on which day it is."""
    scope, at = Scope("", path.parent.name, ""), _ms("2024-01-01")
    turns: list[StoredTurn] = []
    for batch in json.loads(path.read_text(encoding="utf-8")):
        for message in [message for turn in batch["turns"] for message in turn]:
            if day := message.get("time_anchor"):
                at = int(datetime.strptime(day, "%B-%d-%Y").replace(tzinfo=UTC).timestamp() * 1000)
            text = message["content"].rpartition(" ->-> ")[0] or message["content"]
            remark = Remark(
                message=str(message["id"]),
                role=message["role"],
                text=text,
                at=at,
                speaker="",
                blocked=False,
                sitting=batch["batch_number"],
            )
            turns.append(StoredTurn(len(turns) + 1, scope, remark))
    asked = json.loads(
        (path.parent / "probing_questions" / "probing_questions.json").read_text(encoding="utf-8")
    )
    questions = tuple(
        Question(
            each["question"], kind, tuple(dict.fromkeys(map(str, _ids(each.get("source_chat_ids", [])))))
        )
        for kind, group in asked.items()
        for each in group
    )
    return Talk(path.parent.name, tuple(turns), questions, at)


def _ids(given: Any) -> Iterator[int]:
    """Yield the numbers in lists and objects, however nested."""
    if isinstance(given, int):
        yield given
    elif isinstance(given, list | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _ids(each)


# --- how much is found


class Asked:
    """One dialogue, in an index of its own."""

    def __init__(
        self, talk: Talk, near: Callable[[RecallIndex], VectorArm] | None = None, written: bool = True
    ) -> None:
        self.talk = talk
        self.index = RecallIndex()
        self.index.apply_changes(talk.turns)
        if written:
            self.index.commit()
        self.within = IndexSearch(self.index)
        self.within.near = None if near is None else near(self.index)

    def search(self, text: str, floor: float | None = None) -> RecallQuery:
        """Return what is asked of it."""
        return RecallQuery(
            text=text, lang=self.talk.lang, scope=self.talk.scope, at=self.talk.at, limit=K, floor=floor
        )

    async def ranking(self, text: str) -> list[str]:
        """Return the ids of the ten best, best first."""
        found = await self.found(text)
        return [each.message for each in sorted(found.excerpts, key=lambda each: -each.score)]

    async def sure(self, text: str) -> float:
        """Return how surely anything fits."""
        return (await self.found(text)).score

    async def found(self, text: str) -> RecallResult:
        """Return what fits, however unsurely."""
        search = self.search(text, 0.0)
        return self.within.search_index(search, await self.within.look(search))

    def arms(self, text: str, which: Sequence[str]) -> list[str]:
        """Return the ids of the ten best by the ranks in some arms."""
        index, scope = self.index, self.talk.scope
        asked = read_query(text, self.talk.lang, index.speakers("thread", scope), self.talk.at)
        found = index.find(asked, ReachBounds("thread", scope), self.talk.at)
        rows = rank_reciprocal([getattr(found, name) for name in which])
        return [index.rows.messages[row] for row in rows[:K]]


def rank_reciprocal(arms: Sequence[Arm], k: int = 60) -> list[int]:
    """Return rows by the sum of their reciprocal ranks in `arms`: the baseline that the weighted sum is measured
    against.
    """
    total: dict[int, float] = {}
    for arm in arms:
        for place, row in enumerate(sorted(arm, key=lambda each: (-arm[each], each)), 1):
            total[row] = total.get(row, 0.0) + 1 / (k + place)
    return sorted(total, key=lambda row: (-total[row], row))


def recall_at(ranking: Sequence[str], evidence: Sequence[str]) -> float:
    """Return the share of the evidence that is in a ranking."""
    return len({*ranking[:K]} & {*evidence}) / len({*evidence})


async def compare(name: str, talks: Sequence[Talk], kinds: set[Any], embedders: dict[str, Embedder]) -> None:
    """Print recall@10 of every way to find, by kind and by dialogue."""
    asked = [Asked(talk) for talk in talks]
    questions = [(each, q) for each in asked for q in each.talk.questions if q.kind in kinds and q.evidence]
    said = sum(len(talk.turns) for talk in talks)
    say(f"{name}: recall@{K} of {len(questions)} questions over {len(talks)} talks, {said} turns")
    await _print("words", asked, questions, lambda each, q: each.ranking(q.text))
    waiting = [Asked(talk, written=False) for talk in talks]
    again = [(each, q) for each in waiting for q in each.talk.questions if q.kind in kinds and q.evidence]
    await _print("words, all in the tail", waiting, again, lambda each, q: each.ranking(q.text))
    for label, which in (
        ("window alone", ("words",)),
        ("4-grams alone", ("grams",)),
        ("RRF of both", ("words", "grams")),
    ):

        async def by_arm(each: Asked, q: Question, which: Sequence[str] = which) -> list[str]:
            return each.arms(q.text, which)

        await _print(label, asked, questions, by_arm)
    for label, embedder in embedders.items():
        began = time.process_time()
        dense = [Asked(talk, _near(embedder)) for talk in talks]
        for each in dense:
            if each.within.near is not None:
                await each.within.near.catch_up()
        say(f"  {label}: {time.process_time() - began:.0f} s of CPU for vectors of {said} turns")
        again = [(each, q) for each in dense for q in each.talk.questions if q.kind in kinds and q.evidence]
        await _print(f"words and {label}", dense, again, lambda each, q: each.ranking(q.text))


def _near(embedder: Embedder) -> Callable[[RecallIndex], VectorArm]:
    from agent.memory.recall.dense import RowVectors  # noqa: PLC0415  # numpy

    at_once = (
        embedder.encoder if isinstance(embedder, Threaded) and embedder.name.startswith("static") else None
    )
    return lambda index: RowVectors(index.rows, embedder, WorkerThreads(1), at_once)


async def _print(
    label: str, asked: Sequence[Asked], questions: Sequence[tuple[Asked, Question]], find: Any
) -> None:
    by_kind: defaultdict[str, list[float]] = defaultdict(list)
    by_talk: defaultdict[str, list[float]] = defaultdict(list)
    took = []
    for each, question in questions:
        began = time.perf_counter()
        ranking = await find(each, question)
        took.append((time.perf_counter() - began) * 1000)
        share = recall_at(ranking, question.evidence)
        by_kind[str(question.kind)].append(share)
        by_talk[each.talk.name].append(share)
    every = [share for shares in by_kind.values() for share in shares]
    took.sort()
    kinds = "  ".join(f"{kind} {statistics.fmean(shares):.3f}" for kind, shares in sorted(by_kind.items()))
    say(f"  {label:<22} {statistics.fmean(every):.3f}   {kinds}   p50 {took[len(took) // 2]:.2f} ms")
    if len(by_talk) <= 10 and label.startswith("words"):
        say("    " + "  ".join(f"{talk} {statistics.fmean(shares):.3f}" for talk, shares in by_talk.items()))


# --- what is left out


async def abstention(talks: Sequence[Talk]) -> None:
    """Print how well it is told which questions have an answer, and what the floor refuses."""
    draw = random.Random(1)
    yes: list[float] = []
    no: list[float] = []
    foreign: list[float] = []
    lost: list[float] = []
    for talk in talks:
        asked = Asked(talk)
        for question in talk.questions:
            sure = await asked.sure(question.text)
            (no if question.kind == NO_ANSWER else yes).append(sure)
            if question.kind in ANSWERED and question.evidence and sure < FLOOR:
                lost.append(recall_at(await asked.ranking(question.text), question.evidence))
        theirs = [
            q.text for other in talks if other is not talk for q in other.questions if q.kind in ANSWERED
        ]
        draw.shuffle(theirs)
        foreign += [await asked.sure(text) for text in theirs[:FOREIGN]]

    def refused(scores: Sequence[float]) -> float:
        return statistics.fmean(score < FLOOR for score in scores)

    parts = [("questions with no answer in it", no), ("of another dialogue", foreign)]
    others = [(label, scores) for label, scores in parts if scores]
    told = (f"{auroc(yes, scores):.3f} on {len(scores)} {label}" for label, scores in others)
    say(f"abstention: AUROC {', '.join(told)}")
    refuses = " and ".join(f"{refused(scores):.1%}" for _, scores in others)
    say(
        f"  the floor {FLOOR} refuses {refused(yes):.1%} of {len(yes)} answered, {refuses} of the others; "
        f"recall@{K} of what it refuses: {statistics.fmean(lost or [0]):.2f}"
    )


def auroc(yes: Sequence[float], no: Sequence[float]) -> float:
    """Return how likely one of `yes` is above one of `no`."""
    return statistics.fmean((a > b) + (a == b) / 2 for a in yes for b in no)


# --- how long it takes


def made_up(count: int, threads: int, seed: int = 1) -> Iterator[StoredTurn]:
    """Yield turns of words that follow Zipf's law, two speakers a thread."""
    draw = random.Random(seed)
    pool = [
        "".join(draw.choice("bdfgklmnprstv") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))
        for _ in range(20_000)
    ]
    weights = list(accumulate(1 / (rank + 5) for rank in range(len(pool))))
    for number in range(count):
        thread = number % threads
        text = " ".join(draw.choices(pool, cum_weights=weights, k=draw.randint(5, 30))) + "."
        remark = Remark(
            message=f"m{number}",
            role="user",
            text=text,
            at=1_700_000_000_000 + number * 1000,
            speaker=f"Ann{thread}" if draw.random() < 0.5 else f"Bo{thread}",
            blocked=False,
            sitting=number // threads // 40,
        )
        yield StoredTurn(number + 1, Scope("", f"thread{thread}", "us"), remark)


async def speed(count: int, threads: int, embedders: dict[str, Embedder]) -> None:
    """Print what an index of so many turns takes to build, hold and search."""
    turns = list(made_up(count, threads))
    before = _resident()
    recall = IndexRecaller(Said(turns), WorkerThreads(1))
    began = time.process_time()
    index = await recall.load_index(Scope("", "thread0", "us"))
    within = IndexSearch(index)
    texts = sum(sys.getsizeof(turn.remark.text) for turn in turns) / 2**20
    say(
        f"{count} turns in {threads} threads: {time.process_time() - began:.1f} s of CPU to build, "
        f"{_resident() - before:.0f} MiB more beside {texts:.0f} of texts"
    )
    draw = random.Random(2)
    scope = Scope("", "thread0", "us")

    def asked(turn: StoredTurn) -> RecallQuery:
        picked = draw.sample(turn.remark.text.strip(".").split(), 4)
        return RecallQuery(
            text=f"When did {turn.remark.speaker} {' '.join(picked)}?",
            lang="en",
            scope=scope,
            at=turn.remark.at,
            limit=K,
            tokens=1_000,
        )

    reaches: tuple[tuple[str, Reach], ...] = (("every thread", "scope"), ("one thread", "thread"))
    for label, reach in reaches:
        searches = [replace(asked(turn), reach=reach) for turn in draw.sample(turns, 2_000)]
        _times(f"recall, {label}", within, searches)
    for turn in made_up(32, threads, 3):
        index.apply_changes([replace(turn, n=turn.n + count)])
    _times("recall, with a tail of 32 turns", within, [asked(turn) for turn in draw.sample(turns, 500)])
    for label, embedder in embedders.items():
        await _with_vectors(label, embedder, within, [asked(turn) for turn in draw.sample(turns, 200)])


def _times(label: str, within: IndexSearch, searches: Sequence[RecallQuery]) -> None:
    took = []
    spent = time.process_time()
    for search in searches:
        began = time.perf_counter()
        within.search_index(search)
        took.append((time.perf_counter() - began) * 1000)
    _told(label, took, time.process_time() - spent)


def _told(label: str, took: list[float], spent: float) -> None:
    """Print the times of searches, in milliseconds, and the mean of the CPU time, of which `spent` seconds are all."""
    took.sort()
    say(
        f"  {label:<34} p50 {took[len(took) // 2]:.2f} ms   p99 {took[int(len(took) * 0.99)]:.2f} ms   "
        f"CPU {spent / len(took) * 1000:.2f} ms"
    )


async def _with_vectors(
    label: str,
    embedder: Embedder,
    within: IndexSearch,
    searches: Sequence[RecallQuery],
) -> None:
    """Print the times with vectors: those of the questions are made, those of the turns are drawn."""
    import numpy as np  # noqa: PLC0415

    near: Any = _near(embedder)(within.index)
    drawn = np.random.default_rng(1)
    before = _resident()
    width = len((await embedder.embed(["a"]))[0])
    while near.missing_count:
        first = len(within.index.rows) - near.missing_count
        rows = drawn.standard_normal((min(4096, near.missing_count), width)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        near._pack(width).put_vectors(range(first, first + len(rows)), rows)
        near._mark_known(first + len(rows))
    within.near = near
    say(f"  vectors {label}: {_resident() - before:.0f} MiB more")
    took = []
    spent = time.process_time()
    for search in searches:
        began = time.perf_counter()
        within.search_index(search, await within.look(search))
        took.append((time.perf_counter() - began) * 1000)
    _told(f"recall, {label}", took, time.process_time() - spent)


def _resident() -> float:
    """Return what this process holds in memory, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def _main(arguments: argparse.Namespace) -> None:
    embedders: dict[str, Embedder] = {}
    for name in arguments.vectors:
        try:
            choice = choose(name)
        except UsageError as error:
            say(f"vectors {name}: left out, {error}")
            continue
        if choice is not None:
            embedders[name] = await open_embedder(choice, WorkerThreads(1))
    talks = dialogues(arguments.folder)
    if talks:
        await compare("dialogues", talks, ANSWERED, embedders)
        await abstention(talks)
    else:
        say(f"dialogues: left out, there are none in {arguments.folder}")
    if arguments.chats is not None:
        await compare("chats", chats(arguments.chats), KINDS, {} if arguments.chats_by_words else embedders)
    if arguments.turns:
        await speed(arguments.turns, arguments.threads, embedders)


def main() -> None:
    """Print every figure."""
    share_heaps()  # as the server does
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of dialogues, *.jsonl")
    parser.add_argument(
        "--chats", type=Path, help="folder of long chats, each in a folder with its chat.json"
    )
    parser.add_argument("--chats-by-words", action="store_true", help="search these without vectors")
    parser.add_argument(
        "--vectors", nargs="*", default=["static", "minilm"], help="embedders to find with besides"
    )
    parser.add_argument(
        "--turns", type=int, default=100_000, help="how many made-up turns are searched; 0 is none"
    )
    parser.add_argument("--threads", type=int, default=100, help="in how many threads")
    trio.run(_main, parser.parse_args())


if __name__ == "__main__":
    main()
