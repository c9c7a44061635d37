"""Figures of the search: how well it ranks, what it leaves out, how long it takes. `python -m tests.bench.retrieval`.

Side by side with rank-bm25 (stems and stop words; when it is installed), SQLite's FTS5, and tantivy with its default
tokenizer and with 4-grams, in the same run and on every labelled set that is there: the Swedish questions, all answers
as documents, and the sections of the public document sets (folder AGENT_SHARED, or ../shared beside the checkout).
Time is measured on synthetic snippets whose words follow Zipf's law, half in each language. The tables of questions
over kb/ are those of the tests.
"""

import argparse
import importlib
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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import tantivy
import trio

from agent.embedding.open import open_meaning
from agent.host import WorkerThreads
from agent.lexical.stems import stem
from agent.lexical.subject import subject_words
from agent.ports.search import Lang, Passage
from agent.retrieval.load import SourceFile, load_documents
from agent.retrieval.meaning import KnowledgeEmbedder, embedded_text
from agent.retrieval.search import KnowledgeBase, QuestionVector
from agent.retrieval.synonyms import read_synonyms
from agent.text.words import split_words

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("AGENT_SHARED", ROOT.parent / "shared")) / "data"
LEFT_OUT = "left out"

Search = Callable[[str], Sequence[int]]
"""From a query to the numbers of the best documents, best first."""


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def bm25_search(texts: Sequence[str], limit: int, lang: Lang) -> Search:
    """Return the search of rank-bm25 over the stems of words that are no stop words."""

    def stems(text: str) -> list[str]:
        return [stem(lang, word) for word in subject_words(text, lang)]

    okapi = importlib.import_module("rank_bm25").BM25Okapi([stems(text) for text in texts])

    def search(query: str) -> Sequence[int]:
        scores = okapi.get_scores(stems(query))
        return [int(number) for number in scores.argsort()[::-1][:limit] if scores[number] > 0]

    return search


def fts_search(texts: Sequence[str], limit: int, lang: Lang) -> Search:
    """Return the search of SQLite's FTS5 (BM25, any of the words)."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table snippets using fts5(text)")
    database.executemany("insert into snippets(rowid, text) values (?, ?)", enumerate(texts, 1))

    def search(query: str) -> Sequence[int]:
        any_of = " OR ".join(f'"{word}"' for word in split_words(query))
        rows = database.execute(
            "select rowid from snippets where snippets match ? order by rank limit ?", (any_of, limit)
        )
        return [number - 1 for (number,) in rows] if any_of else []

    return search


def tantivy_search(texts: Sequence[str], limit: int, lang: Lang, gram: int = 0) -> Search:
    """Return the search of tantivy (BM25, any of the terms), with its default tokenizer or one of n-grams."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="gram" if gram else "default")
    builder.add_unsigned_field("number", stored=True)
    index = tantivy.Index(builder.build())
    tokenizer = tantivy.Tokenizer.ngram(gram, gram) if gram else tantivy.Tokenizer.simple()
    analyzer = tantivy.TextAnalyzerBuilder(tokenizer).filter(tantivy.Filter.lowercase()).build()
    if gram:
        index.register_tokenizer("gram", analyzer)
    writer = index.writer(15_000_000, 1)
    for number, text in enumerate(texts):
        writer.add_document(tantivy.Document(text=text, number=number))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> Sequence[int]:
        terms = dict.fromkeys(analyzer.analyze(query))
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "text", term, index_option="freq"))
            for term in terms
        ]
        hits = searcher.search(tantivy.Query.boolean_query(clauses), limit).hits if clauses else []
        return [int(searcher.doc(address)["number"][0]) for _, address in hits]

    return search


OTHERS: dict[str, Callable[[Sequence[str], int, Lang], Search] | None] = {
    "SQLite FTS5": fts_search,
    "tantivy, its default": tantivy_search,
    "tantivy, 4-grams": partial(tantivy_search, gram=4),
    "rank-bm25, stems": bm25_search if importlib.util.find_spec("rank_bm25") else None,
}


def ndcg(ranking: Sequence[int], right: frozenset[int]) -> float:
    """Return the nDCG@10 of a ranking; 0 where nothing is right."""
    if not right:
        return 0.0
    gain = sum(1 / math.log2(place + 2) for place, number in enumerate(ranking[:10]) if number in right)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(right))))


Asked = tuple[str, frozenset[int]]
"""A question, and the numbers of the sections that answer it."""


def compare(
    name: str, kb: KnowledgeBase, meant: KnowledgeBase | None, asked: Sequence[Asked], lang: Lang
) -> None:
    """Print nDCG@10 by section of every search. meant: the same knowledge base with vectors."""
    say(f"{name}: nDCG@10 of {len(asked)} questions, {len(kb.passages)} sections")
    numbers = {id(passage): number for number, passage in enumerate(kb.passages)}

    def ours(of: KnowledgeBase, floor: bool, question: str) -> list[int]:
        vector = trio.run(of.embed_question, question, lang)
        if floor and not of.find_hits(question, lang, 1, vector=vector):
            return []
        return [numbers[id(passage)] for passage in of.find_sections(question, lang, 10, vector)]

    searches: dict[str, Search | None] = {}
    for label, of in (("this search", kb), ("this search, vectors", meant)):
        if of is not None:
            numbers |= {id(passage): number for number, passage in enumerate(of.passages)}
            searches[label] = partial(ours, of, False)
            searches[f"{label}, floor"] = partial(ours, of, True)
    texts = [embedded_text(passage) for passage in kb.passages]
    searches |= {label: make(texts, 10, lang) if make else None for label, make in OTHERS.items()}
    for label, search in searches.items():
        figure = LEFT_OUT
        if search is not None:
            figure = f"{statistics.fmean(ndcg(search(question), right) for question, right in asked):.3f}"
        say(f"  {label:<28} {figure}")


def ranking(meaning: KnowledgeEmbedder | None) -> None:
    """Print nDCG@10 on every labelled set that is there."""
    path = SHARED / "swefaq_dev.jsonl"
    if not path.exists():
        say(f"ranking: left out, {path} is not here")
        return
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    texts = list(dict.fromkeys(answer for row in rows for answer in row["answers"]))
    sources = [SourceFile.of(f"kb/{number}.md", text) for number, text in enumerate(texts)]
    kb, meant = _both(sources, meaning)
    answers: dict[str, set[int]] = {}
    for number, passage in enumerate(kb.passages):
        answers.setdefault(texts[int(passage.file[3:-3])], set()).add(number)
    # One document may be several sections; the first of them that is found counts.
    asked = [(row["question"], frozenset(answers[row["answers"][row["right"]]])) for row in rows]
    compare("swefaq_dev", kb, meant, asked, "sv")
    for labels in sorted((SHARED / "docs").glob("*.jsonl")):
        kb, meant = _both(load_documents(labels.with_suffix("")).sources, meaning)
        rows = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
        rows = [row for row in rows if row["kind"] != "off"]
        compare(
            labels.stem,
            kb,
            meant,
            [(row["question"], _right(kb.passages, row)) for row in rows],
            rows[0]["lang"],
        )


def _both(
    sources: Sequence[SourceFile], meaning: KnowledgeEmbedder | None
) -> tuple[KnowledgeBase, KnowledgeBase | None]:
    return KnowledgeBase.build(sources), KnowledgeBase.build(sources, meaning=meaning) if meaning else None


def _right(passages: Sequence[Passage], row: dict[str, Any]) -> frozenset[int]:
    """Return the numbers of the sections with a line that answers."""
    places = [(f"kb/{place['file']}", *place["lines"]) for place in (row, *row.get("also", ()))]
    return frozenset(
        number
        for number, passage in enumerate(passages)
        for file, first, last in places
        if passage.file == file
        and any(each.first <= last and first <= each.last for each in passage.snippets)
    )


def tables(meaning: KnowledgeEmbedder | None) -> None:
    """Print what share of the questions over kb/ find their file, and find nothing when they should not."""
    loaded, (known, _) = load_documents(ROOT / "kb"), read_synonyms(ROOT / "kb")

    def read(name: str) -> list[dict[str, Any]]:
        lines = (ROOT / "tests" / "retrieval" / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    on, off = read("on_topic.jsonl"), read("off_topic.jsonl")
    for label, of in (("off", None), ("on", meaning)):
        kb = KnowledgeBase.build(loaded.sources, (), known, of)

        def find(row: dict[str, Any], kb: KnowledgeBase = kb) -> list[str]:
            vector = trio.run(kb.embed_question, row["question"], row["lang"])
            hits = kb.find_hits(row["question"], row["lang"], 40, vector=vector)
            return list(dict.fromkeys(hit.snippet.file for hit in hits))

        found = [find(row) for row in on]
        first = statistics.fmean(
            bool(set(files[:1]) & set(row["files"])) for files, row in zip(found, on, strict=True)
        )
        nothing = statistics.fmean(not files for files in found)
        none = statistics.fmean(not find(row) for row in off)
        say(
            f"kb/, vectors {label}: right file first {first:.1%}, nothing found {nothing:.1%} of {len(on)}; "
            f"nothing found for {none:.1%} of {len(off)} off topic"
        )


def start() -> None:
    """Print how long kb/ takes to be ready."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        kb = KnowledgeBase.build(load_documents(ROOT / "kb").sources)
        took.append(time.perf_counter() - began)
    say(
        f"kb/: {kb.statement_count} statements read, cut and indexed in {statistics.median(took) * 1000:.0f} ms"
    )


def synthetic(count: int, seed: int = 1) -> tuple[list[SourceFile], list[tuple[str, Lang]]]:
    """Return about `count` snippets in files of 100, and 500 queries of 2 to 8 words, half common and half rare."""
    draw = random.Random(seed)
    known = sorted(
        {word for source in load_documents(ROOT / "kb").sources for word in split_words(source.data.decode())}
    )
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
        documents.append(SourceFile.of(f"kb/{folder}{number}.md", "# Part\n\n" + "\n\n".join(paragraphs)))
    queries: list[tuple[str, Lang]] = []
    for number in range(500):
        size = draw.randint(2, 8)
        common = draw.choices(pool, cum_weights=weights, k=size // 2)
        queries.append(
            (" ".join(common + draw.choices(pool, k=size - size // 2)), "sv" if number % 2 else "en")
        )
    return documents, queries


def speed(count: int, meaning: KnowledgeEmbedder | None) -> None:
    """Print how long the index takes to build, and a search of it."""
    documents, queries = synthetic(count)
    for label, of in (("this search", None), ("this search, vectors", meaning)):
        began = time.process_time()
        kb = KnowledgeBase.build(documents, meaning=of)
        say(
            f"{kb.statement_count} statements in {len(kb.passages)} sections: {time.process_time() - began:.1f} s CPU"
        )

        vectors = {query: trio.run(kb.embed_question, *query) for query in queries}  # some 0.1 ms each

        def search(
            query: tuple[str, Lang],
            kb: KnowledgeBase = kb,
            vectors: Mapping[tuple[str, Lang], QuestionVector | None] = vectors,
        ) -> object:
            return kb.find_hits(*query, 40, vector=vectors[query])

        report(f"{label}, first", search, queries)
        report(f"{label}, again", search, queries)
    texts = [snippet.text for passage in kb.passages for snippet in passage.snippets]
    for name, make in OTHERS.items():
        if make is None:
            say(f"  {name:<28} {LEFT_OUT}")
            continue
        report(name, over_text(make(texts, 10, "sv")), queries[:30])


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
        f"  {name:<28} p50 {took[len(took) // 2]:8.2f} ms   p99 {took[int(len(took) * 0.99)]:8.2f} ms"
        f"   ({len(took)} queries)"
    )


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--snippets", type=int, default=100_000, help="how many synthetic snippets are searched"
    )
    arguments = parser.parse_args()
    say("every search is made: the cache of hits is not in use")
    meaning = trio.run(open_meaning, "auto", None, WorkerThreads(1))
    ranking(meaning)
    tables(meaning)
    start()
    speed(arguments.snippets, meaning)


if __name__ == "__main__":
    main()
