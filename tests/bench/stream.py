"""How cheaply words are streamed, beside other servers of the same wire: `python -m tests.bench.stream`.

    python -m tests.bench.stream --quick                     each workload in short, once
    python -m tests.bench.stream --only flat,paced           some workloads, in full
    python -m tests.bench.stream --before ../earlier         this checkout beside an earlier one, in the same run
    python -m tests.bench.stream --json out.json --plot out.png

Servers run on one core, the load client on another; two workers, and the one server beside them, on two, and the
client on what cores are left. Where none are, all share them, and what each took stands in the table.

The servers of a workload are measured alternately, so that a busy moment of the machine meets all of them; figures are
medians of the rounds, and a ratio is the median of each round's ratio. Times differ between machines and hours: only
ratios of one run, and instructions, say something. Our figures hold the whole product, with the brain's work, and each
question is searched for (`kept hits %` is what our server says of that); the others only send words. Exit status 1 when
a target is missed.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.load.chart import draw
from tests.bench.load.client import Load, room_for
from tests.bench.load.line import Failed
from tests.bench.load.meter import Measured, Meter, medians
from tests.bench.load.report import table
from tests.bench.load.searches import declared
from tests.bench.load.workloads import Plan, beside_slow, idle, storm, talk
from tests.e2e.questions import questions

from .servers import (
    LONG_QUESTION,
    NAMES,
    QUESTION,
    ROOT,
    How,
    Kind,
    Running,
    all_cores,
    cores,
    cores_for,
    kinds,
    ours,
    perf_can,
    running,
    wait_until_ready,
)
from .targets import ONE_SERVER, TWO_WORKERS, Results, charts, verdicts

WORDS, PACE = 200, 20.0
OURS = ("ours", "before")
WARM = 20  # turns that a server answers before it is measured
SAME = "Tell me about Right of withdrawal."  # an answer of 37 frames
STORM = 1.5  # seconds in which a turn of the storm is cancelled
BUSY = 10  # % of the time that the server waits for its core, from which on it is said
BOTTLENECK = 95  # % of a core that the client uses, from which on it is said
SLOW, AMONG = 20, 180


@dataclass(slots=True)
class Run:
    """One run of the benchmark: how, and what was found. notes: what was left out, and why."""

    kinds: Sequence[Kind]
    rounds: int
    quick: bool
    folder: Path
    results: Results = field(default_factory=Results)
    notes: list[str] = field(default_factory=list)

    def some(self, *names: str) -> list[Kind]:
        """Return the kinds of these names, or all."""
        return [kind for kind in self.kinds if not names or kind.name in names]

    def measure(self, workload: str, case: str, kind: Kind, once: Callable[[], Measured]) -> None:
        """Measure once, and keep the figures or why there are none."""
        try:
            found = once()
        except (Failed, AssertionError) as error:
            say(f"  {workload} {case} {kind.name}: {error}")
            self.notes.append(f"{workload} {case} {kind.name}: {error}")
            return
        self.results.add(workload, case, kind.name, found)
        say(f"  {table(workload, [(f'{case} {kind.name}', found)]).splitlines()[1]}")


Once = Callable[[Running], Measured]


def alternating(
    run: Run, workload: str, how: How, some: Iterable[Kind], cases: Sequence[tuple[str, Once]]
) -> None:
    """Start the servers of a workload, and measure each case on one after the other; all of it round after round."""
    with ExitStack() as stack:
        up = [(kind, stack.enter_context(running(kind, how, run.folder))) for kind in some]
        for _, server in up:
            warm(server, how)
        rounds(run, workload, up, cases)


def rounds(
    run: Run, workload: str, up: Sequence[tuple[Kind, Running]], cases: Sequence[tuple[str, Once]]
) -> None:
    """Measure each case on one running server after the other, round after round."""
    for _ in range(run.rounds):
        for case, once in cases:
            for kind, server in up:
                run.measure(workload, case, kind, lambda: _declared(kind, server, once))  # noqa: B023  # called at once


def _declared(kind: Kind, server: Running, once: Once) -> Measured:
    """Measure once; of our servers, with what they say of their searches."""
    return declared(server.target, lambda: once(server)) if kind.name in OURS else once(server)


def warm(server: Running, how: How) -> None:
    """Let a server find its feet: caches, compilers, threads; but not for minutes where it keeps a pace."""
    with Load() as load:
        each = 1 if how.pace else WARM // 2
        talk(load, server.target, Meter(), Plan(2, each, [QUESTION if how.words else SAME]))


def talking(plan: Plan) -> Once:
    """Return a measurement of turns."""

    def once(server: Running) -> Measured:
        with Load() as load:
            found = talk(load, server.target, Meter(server.pid, server.counter), plan)
        if plan.pace and "cpu_us_per_delta" in found:  # what all of them need when none is late
            found["cores_percent"] = 100 * found["cpu_us_per_delta"] * plan.sessions / plan.pace / 1e6
        return found

    return once


def flat(run: Run) -> None:
    """(a) Flat out: answers of 200 words, as fast as they go."""
    turns = {1: 30, 50: 2, 500: 1} if run.quick else {1: 200, 50: 8, 500: 2}
    plans = [(f"{size}", talking(Plan(size, turns[size], [QUESTION]))) for size in turns]
    alternating(run, "flat", How(WORDS, 0), run.some(), plans)


def paced(run: Run) -> None:
    """(b) A word every 20 ms, arrivals spread over a second."""
    sizes, turns = ((100, 600), 1) if run.quick else ((100, 300, 600), 2)
    pace = PACE / 1000
    plans = [(f"{size}", talking(Plan(size, turns, [QUESTION], stagger=1.0, pace=pace))) for size in sizes]
    alternating(run, "paced", How(WORDS, PACE), run.some(), plans)


def turns(run: Run) -> None:
    """(c) Whole turns on `kb/`: one question again and again, 400 different ones, and one session alone."""
    asked = [each.text for each in questions(ROOT / "kb", 400)]
    each = 4 if run.quick else 20
    cases = [
        ("50 same", talking(Plan(50, each, [SAME]))),
        ("50 different", talking(Plan(50, each, asked))),
        ("1 alone", talking(Plan(1, 10 * each, [SAME]))),
    ]
    alternating(run, "turns", How(0, 0), run.some(*OURS), cases)


def cancels(run: Run) -> None:
    """(d) Every session cancels at a random moment."""

    def once(size: int) -> Once:
        def storming(server: Running) -> Measured:
            plan = Plan(size, 2 if run.quick else 10, [QUESTION])
            with Load() as load:
                return storm(load, server.target, Meter(server.pid), plan, STORM)

        return storming

    alternating(
        run, "cancel", How(WORDS, PACE), run.some(*OURS), [(f"{size}", once(size)) for size in (50, 500)]
    )


def idling(run: Run) -> None:
    """(e) Sessions that ask nothing, each number on a fresh server."""
    for size in (1000,) if run.quick else (1000, 5000, 10000):
        for _ in range(run.rounds):
            for kind in run.some():

                def once(kind: Kind = kind, size: int = size) -> Measured:
                    with running(kind, How(WORDS, 0), run.folder) as server, Load() as load:
                        warm(server, How(WORDS, 0))  # what the first session takes for all is not its own
                        return idle(load, server.target, server.pid, size)

                run.measure("idle", f"{size}", kind, once)


def slowness(run: Run) -> None:
    """(f) Sessions that each ask every four seconds, without slow readers and with them."""
    plan = Plan(AMONG, 3 if run.quick else 8, [QUESTION], stagger=4.0, every=4.0)

    def beside(server: Running) -> Measured:
        with Load() as load:
            return beside_slow(load, server.target, Meter(server.pid), plan, SLOW, LONG_QUESTION)

    alternating(run, "slow", How(WORDS, 0), run.some(*OURS), [("without", talking(plan)), ("with", beside)])


def workers(run: Run) -> None:
    """(g) Whole turns on `kb/` flat out, of one server and of two workers on the same two cores."""
    some, on = [ours(ONE_SERVER), ours(TWO_WORKERS, ROOT, "--workers", "2")], cores_for(2)
    asked = [each.text for each in questions(ROOT / "kb", 400)]
    plan = Plan(100, 4 if run.quick else 40, asked)
    if len(all_cores()) <= len(on):
        run.notes.append(
            f"{len(on)} cores only: of (g) the client runs on the cores of both workers, and takes from them what "
            "it needs; one server leaves it a core"
        )
    with ExitStack() as stack:
        up = [(kind, stack.enter_context(running(kind, How(0, 0), run.folder, on=on))) for kind in some]
        for _, server in up:
            wait_until_ready(server.target)  # else connections go to the worker that is
            with Load() as load:
                talk(load, server.target, Meter(), Plan(20, len(asked) // 10, asked))
        rounds(run, "workers", up, [("100", talking(plan))])


WORKLOADS = {
    "flat": flat,
    "paced": paced,
    "turns": turns,
    "cancel": cancels,
    "idle": idling,
    "slow": slowness,
    "workers": workers,
}


def say(line: str) -> None:
    """Print a line, and see that it is shown."""
    print(line, flush=True)  # noqa: T201


def read() -> argparse.Namespace:
    """Read the command line."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m tests.bench.stream", description=__doc__, formatter_class=plain
    )
    parser.add_argument("--quick", action="store_true", help="each workload in short, one round")
    parser.add_argument("--rounds", type=int, help="times that each case is measured (3; quick: 1)")
    parser.add_argument("--only", help=f"some of {','.join(WORKLOADS)}")
    parser.add_argument("--servers", help=f"some of {','.join(NAMES)}")
    parser.add_argument(
        "--before", type=Path, help="an earlier checkout of this project, to stand beside this one"
    )
    parser.add_argument(
        "--node-modules", type=Path, help="the folder that holds Node's ws; else npm installs it"
    )
    parser.add_argument("--json", type=Path, help="write every figure of every round to this file")
    parser.add_argument("--plot", type=Path, help="draw the medians into this PNG file")
    return parser.parse_args()


def main() -> int:
    """Measure; return the exit status."""
    told = read()
    names = told.only.split(",") if told.only else list(WORKLOADS)
    wanted = told.servers.split(",") if told.servers else None
    server, client = cores()
    room_for(10_000)
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as temporary:
        folder = Path(temporary)
        found = [
            kind
            for kind in kinds(told.before, told.node_modules, folder)
            if not wanted or kind.name in wanted
        ]
        able = [kind for kind in found if kind.why_not is None]
        run = Run(able, told.rounds or (1 if told.quick else 3), told.quick, folder)
        run.notes += [
            f"{kind.name} is left out: {kind.why_not}" for kind in found if kind.why_not is not None
        ]
        if server == client:
            run.notes.append("one core only: servers and client share it, which the times show")
        if not perf_can():
            run.notes.append(
                "perf cannot count instructions here; pytest -m bench counts ours with callgrind"
            )
        for name in names:
            say(f"{name}: {WORKLOADS[name].__doc__}")
            WORKLOADS[name](run)
    return report(run, told)


def shared_cores(run: Run) -> list[str]:
    """Return what is to be known of two workers that did not have two cores to themselves."""
    had, waited, client = (
        run.results.value("workers", "100", TWO_WORKERS, name)
        for name in ("server_percent", "waited_percent", "client_percent")
    )
    if had is None or client is None or waited is None or waited <= BUSY:
        return []
    return [
        f"two workers waited for a core for {waited:.0f} % of the time, two cores being 200 %: they had {had:.0f} % "
        f"of a core and the client {client:.0f} %; the rest of what two cores have, others took"
    ]


def report(run: Run, told: argparse.Namespace) -> int:
    """Print tables and verdicts and write the files; return the exit status."""
    for workload, rows in run.results.rows().items():
        say("\n" + table(workload, rows).rstrip())
    judged = verdicts(run.results)
    say("\n" + "\n".join(each.line() for each in judged))
    for server, percent in run.results.bottlenecks(BOTTLENECK):
        run.notes.append(
            f"the client itself took up to {percent:.0f} % of a core against {server}: it is the limit"
        )
    for server in ("ours", ONE_SERVER):
        busy = run.results.most(server, "waited_percent")
        if busy is not None and busy > BUSY:
            run.notes.append(
                f"others had the server's core for up to {busy:.0f} % of the time: times are theirs, too"
            )
    run.notes += shared_cores(run)
    for note in run.notes:
        say(f"note: {note}")
    if told.json is not None:
        machine = {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
        }
        whole = {
            "machine": machine,
            "quick": run.quick,
            "rounds": run.results.dump(),
            "medians": {key: medians(each) for key, each in run.results.dump().items()},
            "targets": [each.dump() for each in judged],
            "notes": run.notes,
        }
        told.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    if told.plot is not None:
        draw(charts(run.results), told.plot)
    return 1 if any(each.met is False for each in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
