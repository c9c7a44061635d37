"""The processor time of a paced word, beside Node's `ws`: a part of `python -m tests.bench.turn`.

Each of `SIZE` sessions takes an answer of 200 words, one each 20 ms, and then one of 400 from another server of the
same kind. The difference, divided by the words between, is the cost of a word alone; the whole of the shorter answers
has the turn in it: search, draft and memory, which Node's server has not. The servers are measured alternately, and a
ratio is the median of each round's.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from .load.client import Load, room_for
from .load.meter import Meter
from .load.workloads import Plan, talk
from .servers import QUESTION, How, Kind, Running, node_modules, node_peer, ours, running, wait_until_ready
from .tools import Figure

SIZE, SHORT, LONG, PACE = 600, 200, 400, 20.0
WORD, WHOLE = 1.1, 1.3  # times Node
_ROUNDS = 3
_US = 1e6


def figures(folder: Path, size: int = SIZE, rounds: int = _ROUNDS) -> Iterator[Figure]:
    """Measure paced words of our server and of Node's, where Node and `ws` can be had."""
    room_for(size)
    modules, why_not = node_modules(None, folder)
    kinds = [ours(), *([] if why_not else [node_peer("node", modules, None)])]
    taken: dict[str, list[tuple[float, float]]] = {kind.name: [] for kind in kinds}
    with ExitStack() as stack:
        up = [
            (kind, words, stack.enter_context(running(kind, How(words, PACE), folder)))
            for kind in kinds
            for words in (SHORT, LONG)
        ]
        for kind, words, server in up:
            _warm(kind, server, words)
        for _ in range(rounds):
            cpu = {(kind.name, words): _cpu(server, size) for kind, words, server in up}
            for kind in kinds:
                taken[kind.name].append((cpu[kind.name, SHORT], cpu[kind.name, LONG]))
    yield from compare(taken, size, why_not or "")


def compare(taken: Mapping[str, list[tuple[float, float]]], size: int, why_not: str) -> Iterator[Figure]:
    """Yield the figures of rounds, each the processor seconds of all short answers and of all long ones.

    `taken`: by the name of the server. `why_not`: why there is no other server than ours.
    """
    word = {
        name: [(long - short) / (LONG - SHORT) / size * _US for short, long in rounds]
        for name, rounds in taken.items()
    }
    whole = {name: [short / SHORT / size * _US for short, _ in rounds] for name, rounds in taken.items()}
    for name, each, bound in (("a word", word, WORD), ("a word and its share of a turn", whole, WHOLE)):
        told = f"{size} paced sessions: {name}"
        yield Figure(
            f"{told}, us", median(each["ours"]), float("inf"), "us", f" {why_not}" if why_not else ""
        )
        if "node" in each:
            ratios = [mine / other for mine, other in zip(each["ours"], each["node"], strict=True)]
            yield Figure(
                f"{told}, times Node", median(ratios), bound, "", f" Node {median(each['node']):.1f} us"
            )


def _warm(kind: Kind, server: Running, words: int) -> None:
    if kind.name == "ours":
        wait_until_ready(server.target)
    with Load() as load:
        talk(load, server.target, Meter(), Plan(2, 1, [QUESTION]))


def _cpu(server: Running, size: int) -> float:
    """Return the processor seconds in which a server answers each session once."""
    with Load() as load:
        plan = Plan(size, 1, [QUESTION], stagger=1.0, pace=PACE / 1000)
        found = talk(load, server.target, Meter(server.pid), plan)
    assert not found["failed"], found
    return found["cpu_us_per_turn"] * size / _US
