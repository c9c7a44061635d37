"""Figures of the search: how well it ranks, what it leaves out, how long it takes. `python -m tests.bench.retrieval`.

Side by side with rank-bm25 (when it is installed) and SQLite's FTS5, in the same run: ranking on the labelled Swedish
questions (folder AGENT_SHARED or ../shared beside the checkout), time on synthetic snippets whose words follow Zipf's
law, half in each language. The tables of questions over kb/ are those of the tests.
"""

import argparse
import importlib.util
import itertools
import json
import math
import os
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from agent.ports.search import Lang
from agent.retrieval.chunk import Piece, chunk
from agent.retrieval.index import Index
from agent.retrieval.load import Document, load
from agent.retrieval.search import KnowledgeBase
from agent.text.words import words

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("AGENT_SHARED", ROOT.parent / "shared")) / "data"
LEFT_OUT = "left out: not installed"

Search = Callable[[str], Sequence[int]]
"""From a query to the numbers of the best documents, best first."""


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def bm25_search(texts: Sequence[str], limit: int) -> Search:
    """Return the search of rank-bm25 over whole words."""
    okapi = importlib.import_module("rank_bm25").BM25Okapi([words(text) for text in texts])

    def search(query: str) -> Sequence[int]:
        scores = okapi.get_scores(words(query))
        return [int(number) for number in scores.argsort()[::-1][:limit] if scores[number] > 0]

    return search


def fts_search(texts: Sequence[str], limit: int) -> Search:
    """Return the search of SQLite's FTS5 (BM25, any of the words)."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table snippets using fts5(text)")
    database.executemany("insert into snippets(rowid, text) values (?, ?)", enumerate(texts, 1))

    def search(query: str) -> Sequence[int]:
        any_of = " OR ".join(f'"{word}"' for word in words(query))
        rows = database.execute(
            "select rowid from snippets where snippets match ? order by rank limit ?", (any_of, limit)
        )
        return [number - 1 for (number,) in rows] if any_of else []

    return search


OTHERS: dict[str, Callable[[Sequence[str], int], Search] | None] = {
    "SQLite FTS5": fts_search,
    "rank-bm25": bm25_search if importlib.util.find_spec("rank_bm25") else None,
}


def ndcg(ranked: Iterable[Sequence[int]], right: Sequence[int]) -> float:
    """Return the mean nDCG@10 of rankings with one right document each."""
    gains = [
        1 / math.log2(found.index(wanted) + 2) if wanted in (found := list(ranking)[:10]) else 0.0
        for ranking, wanted in zip(ranked, right, strict=True)
    ]
    return statistics.fmean(gains)


def ranking() -> None:
    """Print nDCG@10 on the labelled Swedish questions, all answers as documents."""
    path = SHARED / "swefaq_dev.jsonl"
    if not path.exists():
        say(f"ranking: left out, {path} is not here")
        return
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = list(dict.fromkeys(answer for row in rows for answer in row["answers"]))
    right = [texts.index(row["answers"][row["right"]]) for row in rows]
    asked = [row["question"] for row in rows]
    kb = KnowledgeBase.build(Document(f"kb/{number}.md", text) for number, text in enumerate(texts))

    def files(query: str, floor: float | None) -> list[int]:
        hits = kb.find(query, "sv", 20) if floor is None else kb.find(query, "sv", 20, floor=floor)
        return list(dict.fromkeys(int(hit.snippet.file[3:-3]) for hit in hits))

    say(f"ranking: nDCG@10 on {len(asked)} Swedish questions, {len(texts)} documents")
    say(f"  the question as it is      {ndcg([files(question, 0) for question in asked], right):.3f}")
    rewritten = [kb.rewrite(question, "sv") for question in asked]
    say(f"  rewritten                  {ndcg([files(query, 0) for query in rewritten], right):.3f}")
    say(f"  rewritten, with the floor  {ndcg([files(query, None) for query in rewritten], right):.3f}")
    for name, make in OTHERS.items():
        figure = f"{ndcg(map(make(texts, 10), asked), right):.3f}" if make else LEFT_OUT
        say(f"  {name:<25}  {figure}")


def tables() -> None:
    """Print what share of the questions over kb/ find their file, and find nothing when they should not."""
    kb = KnowledgeBase.build(load(ROOT / "kb").documents)

    def read(name: str) -> list[dict[str, Any]]:
        lines = (ROOT / "tests" / "retrieval" / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    on, off = read("on_topic.jsonl"), read("off_topic.jsonl")
    for label, rewrite in (("the question as it is", False), ("rewritten", True)):

        def find(row: dict[str, Any], rewrite: bool = rewrite) -> list[str]:
            query = kb.rewrite(row["question"], row["lang"]) if rewrite else row["question"]
            return [hit.snippet.file for hit in kb.find(query, row["lang"], 5)]

        first = statistics.fmean(bool(set(find(row)[:1]) & set(row["files"])) for row in on)
        among = statistics.fmean(bool(set(find(row)) & set(row["files"])) for row in on)
        none = statistics.fmean(not find(row) for row in off)
        say(
            f"kb/, {label}: right file first {first:.1%}, in the best five {among:.1%} of {len(on)}; "
            f"nothing found for {none:.1%} of {len(off)} off topic"
        )


def start() -> None:
    """Print how long kb/ takes to be ready."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        kb = KnowledgeBase.build(load(ROOT / "kb").documents)
        took.append(time.perf_counter() - began)
    say(f"kb/: {kb.snippets} snippets read, cut and indexed in {statistics.median(took) * 1000:.0f} ms")


def synthetic(count: int, seed: int = 1) -> tuple[list[Document], list[tuple[str, Lang]]]:
    """Return about `count` snippets in files of 100, and 500 queries of 2 to 8 words, half common and half rare."""
    draw = random.Random(seed)
    known = sorted({word for document in load(ROOT / "kb").documents for word in words(document.text)})
    made = [
        "".join(draw.choice("bdfgklmnprstv") + draw.choice("aeiouåäö") for _ in range(draw.randint(2, 4)))
        + draw.choice(["", "n", "r", "s", "t"])
        for _ in range(20_000)
    ]
    pool = known + made
    draw.shuffle(pool)
    weights = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(pool))))
    documents = []
    for number in range(count // 100):
        paragraphs = [" ".join(draw.choices(pool, cum_weights=weights, k=14)) + "." for _ in range(100)]
        folder = "sv/" if number % 2 else "en/"
        documents.append(Document(f"kb/{folder}{number}.md", "# Part\n\n" + "\n\n".join(paragraphs)))
    queries: list[tuple[str, Lang]] = []
    for number in range(500):
        size = draw.randint(2, 8)
        common = draw.choices(pool, cum_weights=weights, k=size // 2)
        queries.append(
            (" ".join(common + draw.choices(pool, k=size - size // 2)), "sv" if number % 2 else "en")
        )
    return documents, queries


def speed(count: int) -> None:
    """Print how long the index takes to build, and a search of it."""
    documents, queries = synthetic(count)
    began = time.perf_counter()
    pieces: list[Piece] = [piece for document in documents for piece in chunk(document.file, document.text)]
    cut = time.perf_counter()
    index = Index(pieces)
    done = time.perf_counter()
    say(f"{len(pieces)} snippets: cut in {cut - began:.1f} s, indexed in {done - cut:.1f} s")
    kb = KnowledgeBase(index, ())
    report("this search", lambda query: kb.find(query[0], query[1], 10), queries)
    texts = [piece.snippet.text for piece in pieces]
    for name, make in OTHERS.items():
        if make is None:
            say(f"  {name:<12} {LEFT_OUT}")
            continue
        report(name, over_text(make(texts, 10)), queries[:30])


def over_text(search: Search) -> Callable[[tuple[str, Lang]], object]:
    """Return a search that leaves the language of a query aside."""
    return lambda query: search(query[0])


def report(
    name: str, search: Callable[[tuple[str, Lang]], object], queries: Sequence[tuple[str, Lang]]
) -> None:
    """Print the median and the 99th percentile of the time of a search."""
    took = []
    for query in queries:
        began = time.perf_counter()
        search(query)
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    say(
        f"  {name:<12} p50 {took[len(took) // 2]:8.2f} ms   p99 {took[int(len(took) * 0.99)]:8.2f} ms"
        f"   ({len(took)} queries)"
    )


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--snippets", type=int, default=100_000, help="how many synthetic snippets are searched"
    )
    arguments = parser.parse_args()
    ranking()
    tables()
    start()
    speed(arguments.snippets)


if __name__ == "__main__":
    main()
