"""How well questions are answered from documents that were not written for it: `python -m tests.bench.documents DIR`.

DIR holds sets of documents and their questions (`labelled`).

Every question goes through a turn as a client's does, with the mock, which quotes. An answer is right when its text
holds one of `answer`, not within a longer word or number, and a citation overlaps `lines` or one of `also`. "first":
the share of questions for which the first quoted statement alone does both. Words are those of a whole answer with
its frame; sources are the sections that it cites. hit@k: one of the first k sections holds these lines. Each set is
read by a process of its own, whose CPU seconds until it can answer and whose peak of resident memory are told. Both
ways, with vectors and without, unless --vectors says which.

    --model replay:tests/data/smollm_documents      what a language model makes of them, beside the mock (`beside`)
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import trio

from agent.answering.brain import GroundedBrain
from agent.embedding.open import open_meaning
from agent.evaluation.cases import Case
from agent.evaluation.judging import cites_place, is_first_right, is_right
from agent.grounding.verify import snippets_of
from agent.host import WorkerThreads
from agent.lang import DEFAULT
from agent.llm.mock import MockModel
from agent.ports.brain import Question, TurnEvent, TurnRefusal, VerifiedPart, VerifiedText
from agent.ports.search import Lang, Query
from agent.retrieval.load import load_documents
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.synonyms import read_synonyms
from agent.settings import Settings
from agent.text.sentences import find_sentences
from agent.text.words import split_words

from . import beside
from .labelled import rows_of, sets

Result = dict[str, Any]

KS = (1, 3, 8)
SURE = (("high", "high"), ("med", "med"), ("low", "low"))
_HELD = 0.8  # of the words of a sentence of an answer, that one citation must hold


def unheld(text: VerifiedText) -> int:
    """Return how many sentences of an answer no citation holds; leads end in a colon and are ours."""
    held = [set(split_words(" ".join((snippet.text, *snippet.headings)))) for snippet in text.citations]
    missing = 0
    for block in snippets_of(text.text):
        for line in block.text.split("\n"):
            for start, end in find_sentences(line):
                said = set(split_words(line[start:end]))
                if (
                    said
                    and not line.endswith(":")
                    and not any(len(said & its) >= _HELD * len(said) for its in held)
                ):
                    missing += 1
    return missing


async def measure(folder: Path, rows: Sequence[Case], vectors: str) -> dict[str, Any]:
    """Ask everything of one set."""
    began = time.process_time()
    meaning = await open_meaning(vectors, None, WorkerThreads(1))
    loaded = load_documents(folder)
    knowledge = KnowledgeBase.build(loaded.sources, loaded.skipped, read_synonyms(folder)[0], meaning)
    ready = time.process_time() - began
    brain = GroundedBrain(knowledge, MockModel(), Settings().answers)
    off = [row.id for row in rows if row.is_off]
    far = frozenset(off[len(off) // 2 :])
    results, took = [], []
    for row in rows:
        lang: Lang = row.lang or DEFAULT
        events: list[TurnEvent] = []
        await brain.answer(
            Question(id=row.id, text=row.question, lang=lang, at=trio.current_time()), events.append
        )
        last = events[-1]
        assert isinstance(last, VerifiedPart | TurnRefusal)
        began = time.perf_counter()
        await knowledge.search(Query(row.question, lang, 40))
        took.append(time.perf_counter() - began)
        answered = isinstance(last, VerifiedPart)
        result: Result = {"answered": answered, "sure": last.text.confidence, "lang": lang}
        if row.is_off:
            result["off"] = "far" if row.id in far else "near"
        else:
            ranked = knowledge.find_sections(
                row.question, lang, max(KS), await knowledge.embed_question(row.question, lang)
            )
            where = next((at for at, found in enumerate(ranked) if cites_place(found.snippets, row)), max(KS))
            result["hits"] = [where < k for k in KS]
            result["right"] = answered and is_right([last.text], row)
            result["first"] = answered and is_first_right([last.text], row)
        if answered:
            result["unheld"] = unheld(last.text)
            result["words"] = len(last.text.text.split())
            result["sources"] = len({(each.file, each.headings) for each in last.text.citations})
        results.append(result)
    took.sort()
    return {
        "results": results,
        "seconds": ready,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "files": len(loaded.sources),
        "left out": len(knowledge.skipped),
        "sections": len(knowledge.passages),
        "statements": knowledge.statement_count,
        "search ms": [took[len(took) // 2] * 1000, took[int(len(took) * 0.99)] * 1000],
    }


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def share(found: Sequence[Any]) -> str:
    """Return the share of what is true, as a percentage."""
    return f"{100 * sum(map(bool, found)) / len(found):4.0f}" if found else "   -"


def line(name: str, results: Sequence[Result]) -> str:
    """Return the figures of one set."""
    asked = [each for each in results if "right" in each]
    near, far = (
        [not each["answered"] for each in results if each.get("off") == kind] for kind in ("near", "far")
    )
    hit = [share([each["hits"][at] for each in asked]) for at in range(len(KS))]
    return (
        f"{name:12} {len(asked):4}  {share([each['first'] for each in asked])}  "
        f"{share([each['right'] for each in asked])}  "
        f"{share([each['answered'] and not each['right'] for each in asked])}  "
        f"{share([not each['answered'] for each in asked])}   {' '.join(hit)}   {share(near)} {share(far)}"
    )


def report(by_set: dict[str, dict[str, Any]], vectors: str) -> None:
    """Print everything of one way to search."""
    say(f"\nvectors: {vectors}; every search is made, none finds its hits kept")
    say("set             n  first right wrong refused  hit@1   3    8   near  far   off-topic refused, in %")
    everything: list[Result] = []
    for name, of in by_set.items():
        everything += of["results"]
        say(line(name, of["results"]))
    say(line("all", everything))
    answered = [each for each in everything if each["answered"]]
    say("confidence: of the answers so called, off-topic questions too, so many were right")
    for sure, _ in SURE:
        so = [each for each in everything if each["answered"] and each["sure"] == sure]
        say(
            f"  {sure:5} {sum(each.get('right', False) for each in so):4} of {len(so)}, "
            f"said of {100 * len(so) / max(1, len(answered)):.0f} %"
        )
    say(f"sentences that no citation holds: {sum(each['unheld'] for each in answered)}")
    say(
        f"an answer: median {median([each['words'] for each in answered] or [0]):.0f} words, "
        f"{median([each['sources'] for each in answered] or [0]):.0f} sources, "
        f"at most {max([each['sources'] for each in answered], default=0)}"
    )
    for name, of in by_set.items():
        p50, p99 = of["search ms"]
        say(
            f"  {name:12} {of['files']} files, {of['left out']} left out, {of['sections']} sections, "
            f"{of['statements']} statements: {of['seconds']:.1f} s of CPU, {of['mib']:.0f} MiB, "
            f"search p50 {p50:.1f} ms, p99 {p99:.1f} ms"
        )


def main() -> None:
    """Measure every set, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.documents")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--vectors", help="auto, off, static, minilm or bert:FOLDER; by default off, then auto"
    )
    parser.add_argument("--only", help="one set, as JSON")
    parser.add_argument(
        "--model", help="a language model, as `agent serve --model` names it, beside the mock"
    )
    parser.add_argument("--base-url", help="where that is served")
    parser.add_argument("--every", type=int, default=1, help="ask it each so many questions of a set only")
    options = parser.parse_args()
    if options.only:
        rows = rows_of(options.folder, options.only)
        say(json.dumps(trio.run(measure, options.folder / options.only, rows, options.vectors or "off")))
        return
    names = sets(options.folder)
    if not names:
        parser.error(f"{options.folder} holds no <set>.jsonl beside a folder <set>")
    if options.model:
        chosen = beside.settings(options.model, options.base_url)
        by_set_asked = trio.run(beside.ask_all, options.folder, chosen, options.every)
        say("\n".join(beside.lines(by_set_asked, options.model)))
        return
    for vectors in [options.vectors] if options.vectors else ["off", "auto"]:
        by_set = {}
        for name in names:
            command = [sys.executable, "-m", "tests.bench.documents", str(options.folder), "--only", name]
            done = subprocess.run(
                [*command, "--vectors", vectors], stdout=subprocess.PIPE, text=True, check=True
            )
            by_set[name] = json.loads(done.stdout)
        report(by_set, vectors)


if __name__ == "__main__":
    main()
