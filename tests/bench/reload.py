"""Figures of the reload: how soon a changed file is searched. `python -m tests.bench.reload`.

A folder of generated files is served live, with the system's own watch and worker threads. One file at a time is
written, and the clock runs until a search of the present snapshot finds it. Beside it: how long the first snapshot
took, what a search takes meanwhile, and the longest time the event loop did not run.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import trio

from agent import log
from agent.host import WorkerThreads
from agent.retrieval.live_knowledge import LiveKnowledge
from agent.retrieval.watch import watch_folder

from .retrieval import synthetic

GIVEN_UP = 30  # seconds until one change must be live
STEP = 0.002  # seconds between two searches


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(line + "\n")


def lay(folder: Path, files: int, snippets: int) -> list[Path]:
    """Write a knowledge base of `files` files and about `snippets` snippets, in folders of 100."""
    documents, _ = synthetic(snippets)
    paragraphs = [line for document in documents for line in document.data.decode().split("\n\n")[1:]]
    each = max(1, len(paragraphs) // files)
    paths = []
    for number in range(files):
        path = folder / f"{number // 100}" / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n".join(["# Part", *paragraphs[number * each : (number + 1) * each]]))
        paths.append(path)
    return paths


async def measure(files: int, snippets: int, changes: int) -> None:
    """Print how long the first snapshot takes, and each of some changes."""
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        folder = Path(name)
        paths = lay(folder, files, snippets)
        began = time.perf_counter()
        live = await LiveKnowledge.open(folder, WorkerThreads())
        say(
            f"{files} files, {live.now.statement_count} snippets: ready in {time.perf_counter() - began:.1f} s"
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(live.keep_current, watch_folder)
            await trio.sleep(3)  # the first look of the watch
            took: list[float] = []
            late: list[float] = []
            for number in range(changes):
                path = paths[number * 37 % len(paths)]
                path.write_text(f"# Part\n\nThe quagga{number} costs {number} kr.\n\n" + path.read_text())
                took.append(await until(live, f"quagga{number}", late))
            nursery.cancel_scope.cancel()
        took.sort()
        late.sort()
        say("every search is made: the cache of hits is not in use")
        say(f"one file written, until a search finds it ({changes} times):")
        say(f"  median {statistics.median(took):.2f} s   slowest {took[-1]:.2f} s")
        say(f"  meanwhile the event loop was late by {late[-1] * 1000:.0f} ms at most")


async def until(live: LiveKnowledge, word: str, late: list[float]) -> float:
    """Return the seconds until a word is found; note by how much each step of the loop was late."""
    began = time.perf_counter()
    with trio.fail_after(GIVEN_UP):
        while not any(word in hit.snippet.text for hit in live.now.find_hits(word, "en", 1, 0)):
            step = time.perf_counter()
            await trio.sleep(STEP)
            late.append(time.perf_counter() - step - STEP)
    return time.perf_counter() - began


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--snippets", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=20)
    arguments = parser.parse_args()
    log.configure("console", "warning")
    trio.run(measure, arguments.files, arguments.snippets, arguments.changes)


if __name__ == "__main__":
    main()
