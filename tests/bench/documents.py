"""How well questions are answered from documents that were not written for it: `python -m tests.bench.documents DIR`.

DIR holds `<set>/` (documents) and `<set>.jsonl` for each set. A row is {"id", "question", "lang", "kind", "file",
"lines": [first, last], "answer": [...], "also": [{"file", "lines"}]}; one of kind "off" has no answer there, and of
these the first half of a set is near its subject and the rest far from it.

Every question goes through a turn as a client's does, with the mock, which quotes. An answer is right when its text
holds one of `answer`, not within a longer word or number, and a citation overlaps `lines` or one of `also`. hit@k: one
of the first k sections holds these lines. Each set is read by a process of its own, whose CPU seconds until it can
answer and whose peak of resident memory are told. Both ways, with vectors and without, unless --vectors says which.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from agent.answering.brain import GroundedBrain
from agent.embedding.open import open_meaning
from agent.grounding.verify import snippets_of
from agent.host import Threads
from agent.llm.mock import MockModel
from agent.ports.brain import Question, Refused, TurnEvent, Verified, VerifiedText
from agent.ports.search import Lang, Query, Snippet
from agent.retrieval.load import load
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.synonyms import read_synonyms
from agent.settings import Settings
from agent.text.sentences import sentences
from agent.text.words import words

KS = (1, 3, 8)
SURE = (("high", "high"), ("med", "med"), ("low", "low"))
_PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "})
_MARKS = re.compile(r"[*`]|\\(?=\W)")
_HELD = 0.8  # of the words of a sentence of an answer, that one citation must hold

Row = dict[str, Any]


def normal(text: str) -> str:
    """Return a text without case, marks of emphasis and runs of white space."""
    return re.sub(r"\s+", " ", _MARKS.sub("", text.translate(_PLAIN))).strip().casefold()


def holds(text: str, answers: Sequence[str]) -> bool:
    """Tell whether a text holds one of the answers, not within a longer word or number."""
    return any(_stands(normal(answer), normal(text)) for answer in answers)


def _stands(answer: str, text: str) -> bool:
    before = (
        r"(?<![^\W_])(?<!\d[.,])" if answer[:1].isdigit() else r"(?<![^\W_])" if answer[:1].isalnum() else ""
    )
    after = (
        r"(?!\d|[.,]\d)(?![^\W_])"
        if answer[-1:].isdigit()
        else r"(?![^\W_])"
        if answer[-1:].isalnum()
        else ""
    )
    return re.search(before + re.escape(answer) + after, text) is not None


def overlaps(snippets: Sequence[Snippet], row: Row) -> bool:
    """Tell whether one of some snippets has a line of those that answer."""
    return any(
        snippet.file == "kb/" + place["file"]
        and snippet.first <= place["lines"][1]
        and place["lines"][0] <= snippet.last
        for place in (row, *row.get("also", ()))
        for snippet in snippets
    )


def unheld(text: VerifiedText) -> int:
    """Return how many sentences of an answer no citation holds; leads end in a colon and are ours."""
    held = [set(words(" ".join((snippet.text, *snippet.headings)))) for snippet in text.citations]
    missing = 0
    for block in snippets_of(text.text):
        for line in block.text.split("\n"):
            for start, end in sentences(line):
                said = set(words(line[start:end]))
                if (
                    said
                    and not line.endswith(":")
                    and not any(len(said & its) >= _HELD * len(said) for its in held)
                ):
                    missing += 1
    return missing


async def measure(folder: Path, rows: Sequence[Row], vectors: str) -> dict[str, Any]:
    """Ask everything of one set."""
    began = time.process_time()
    meaning = await open_meaning(vectors, None, Threads(1))
    loaded = load(folder)
    knowledge = KnowledgeBase.build(loaded.sources, loaded.skipped, read_synonyms(folder)[0], meaning)
    ready = time.process_time() - began
    brain = GroundedBrain(knowledge, MockModel(), Settings().answers)
    off = [row["id"] for row in rows if row["kind"] == "off"]
    far = frozenset(off[len(off) // 2 :])
    results, took = [], []
    for row in rows:
        lang: Lang = row["lang"]
        events: list[TurnEvent] = []
        await brain.answer(Question(row["id"], row["question"], lang, trio.current_time()), events.append)
        last = events[-1]
        assert isinstance(last, Verified | Refused)
        began = time.perf_counter()
        await knowledge.search(Query(row["question"], lang, 40))
        took.append(time.perf_counter() - began)
        answered = isinstance(last, Verified)
        result: Row = {"answered": answered, "sure": last.text.confidence, "lang": lang}
        if row["kind"] == "off":
            result["off"] = "far" if row["id"] in far else "near"
        else:
            ranked = knowledge.sections(
                row["question"], lang, max(KS), await knowledge.vector(row["question"], lang)
            )
            where = next((at for at, found in enumerate(ranked) if overlaps(found.snippets, row)), max(KS))
            result["hits"] = [where < k for k in KS]
            result["right"] = (
                answered and holds(last.text.text, row["answer"]) and overlaps(last.text.citations, row)
            )
        if answered:
            result["unheld"] = unheld(last.text)
            result["characters"] = len(last.text.text)
        results.append(result)
    took.sort()
    return {
        "results": results,
        "seconds": ready,
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "files": len(loaded.sources),
        "left out": len(knowledge.skipped),
        "sections": len(knowledge.passages),
        "statements": knowledge.snippets,
        "search ms": [took[len(took) // 2] * 1000, took[int(len(took) * 0.99)] * 1000],
    }


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def share(found: Sequence[Any]) -> str:
    """Return the share of what is true, as a percentage."""
    return f"{100 * sum(map(bool, found)) / len(found):4.0f}" if found else "   -"


def line(name: str, results: Sequence[Row]) -> str:
    """Return the figures of one set."""
    asked = [each for each in results if "right" in each]
    near, far = (
        [not each["answered"] for each in results if each.get("off") == kind] for kind in ("near", "far")
    )
    hit = [share([each["hits"][at] for each in asked]) for at in range(len(KS))]
    return (
        f"{name:12} {len(asked):4}  {share([each['right'] for each in asked])}  "
        f"{share([each['answered'] and not each['right'] for each in asked])}  "
        f"{share([not each['answered'] for each in asked])}   {' '.join(hit)}   {share(near)} {share(far)}"
    )


def report(by_set: dict[str, dict[str, Any]], vectors: str) -> None:
    """Print everything of one way to search."""
    say(f"\nvectors: {vectors}")
    say("set             n  right wrong refused  hit@1   3    8   near  far   off-topic refused, in %")
    everything: list[Row] = []
    for name, of in by_set.items():
        everything += of["results"]
        say(line(name, of["results"]))
    say(line("all", everything))
    say("confidence: of the answers so called, off-topic questions too, so many were right")
    for sure, _ in SURE:
        so = [each for each in everything if each["answered"] and each["sure"] == sure]
        say(f"  {sure:5} {sum(each.get('right', False) for each in so):4} of {len(so)}")
    answered = [each for each in everything if each["answered"]]
    say(f"sentences that no citation holds: {sum(each['unheld'] for each in answered)}")
    say(
        f"characters of an answer: {sum(each['characters'] for each in answered) / max(1, len(answered)):.0f}"
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
    options = parser.parse_args()
    if options.only:
        rows = [
            json.loads(each) for each in (options.folder / f"{options.only}.jsonl").read_text().splitlines()
        ]
        say(json.dumps(trio.run(measure, options.folder / options.only, rows, options.vectors or "off")))
        return
    names = sorted(path.stem for path in options.folder.glob("*.jsonl") if path.with_suffix("").is_dir())
    if not names:
        parser.error(f"{options.folder} holds no <set>.jsonl beside a folder <set>")
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
