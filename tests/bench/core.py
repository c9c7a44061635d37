"""What the core costs without a socket, a task or a Brain: `python -m tests.bench.core [--against TREE]`.

Four figures, in microseconds of the thread's own CPU: a trigger whose only row has no guard, a trigger whose third
guard is the one that holds, a plain answered turn (a message, a draft, a verified text with one source, and the
stream's word that it is written: four events, made beforehand), and a loop that never changes, which says how quick the
machine is just now. Each is the median of some rounds, and every round measures all four. With `--against` the same
is done with the package of another tree, in turns with this one's, each round in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import median
from time import thread_time

from agent.ports.brain import DraftCompleted, VerifiedPart, VerifiedText
from agent.ports.search import Snippet
from agent.protocol.inbound import Message
from agent.session.core import ENGINE, Core
from agent.session.events import BrainEvent, Event, FrameReceived, TextWritten
from agent.session.settings import SessionSettings
from agent.session.states import SessionState, SessionTrigger

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 15
TRIGGERS, TURNS, STEPS = 20_000, 2_000, 200_000
ANSWER = VerifiedText(
    text="The Standard plan costs 299 kr per month.",
    citations=(
        Snippet(
            file="kb/pricing.md",
            text="The Standard plan costs 299 kr per month.",
            first=3,
            last=3,
            headings=("Pricing", "Plans"),
        ),
    ),
    confidence="high",
)
ROWS = ("calibration", "trigger", "guarded trigger", "turn")


def timed(work: Callable[[], None], times: int) -> float:
    """Return microseconds of CPU for one of the `times` things that `work` does."""
    began = thread_time()
    work()
    return (thread_time() - began) / times * 1e6


def calibration() -> None:
    """Do what never changes: a call, a look-up and an addition."""
    table = {number: number for number in range(16)}
    total = 0
    for number in range(STEPS):
        total += table[abs(number & 15)]


def triggers(core: Core) -> None:
    """Fire the two triggers whose rows do nothing but move."""
    core.state = SessionState.BUFFERING
    react = ENGINE.react
    for _ in range(TRIGGERS // 2):
        react(core, core, SessionTrigger.DRAFTED)
        react(core, core, SessionTrigger.REDRAFT)


def guarded(core: Core) -> None:
    """Fire a trigger whose rows are all asked, and the last is taken."""
    fire = ENGINE.fire
    for _ in range(TRIGGERS):
        core.state = SessionState.STREAMING
        fire(core, SessionTrigger.STREAMED)


def events(numbers: "count[int]") -> list[Event]:
    """Return the events of some plain turns, one a second."""
    made: list[Event] = []
    for _ in range(TURNS):
        turn = next(numbers)
        at = float(turn)
        made += [
            FrameReceived(Message(f"m{turn}", "What does the standard plan cost per month?"), at),
            BrainEvent(turn, DraftCompleted(), (), at),
            BrainEvent(turn, VerifiedPart(text=ANSWER), (), at),
            TextWritten(turn, at, 1_700_000_000_000),
        ]
    return made


def turns(core: Core, prepared: list[Event]) -> None:
    """Handle events, as a session does."""
    handle = core.handle
    for event in prepared:
        handle(event)


def measure() -> dict[str, float]:
    """Return the medians, in microseconds."""
    settings = SessionSettings()
    core, bare, numbers = Core(settings.rate_limit, settings.history_tokens), Core(), count(1)
    found: dict[str, list[float]] = {row: [] for row in ROWS}
    for _ in range(ROUNDS):
        prepared = events(numbers)
        found["calibration"].append(timed(calibration, STEPS))
        found["trigger"].append(timed(lambda: triggers(bare), TRIGGERS))
        found["guarded trigger"].append(timed(lambda: guarded(bare), TRIGGERS))
        found["turn"].append(timed(lambda: turns(core, prepared), TURNS))  # noqa: B023 - called here and now
        assert core.state is SessionState.IDLE
    return {row: median(values) for row, values in found.items()}


def of_tree(tree: Path) -> dict[str, float]:
    """Return what a process of its own measures of the package in `tree`."""
    environment = os.environ | {"PYTHONPATH": str(tree)}
    command = [sys.executable, str(Path(__file__).resolve()), "--json"]
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def show(title: str, measured: dict[str, float]) -> None:
    """Print the figures of one tree."""
    scale = measured["calibration"]
    sys.stdout.write(f"{title}\n")
    for row, value in measured.items():
        sys.stdout.write(f"  {row:16} {value:8.3f} us  {value / scale:8.1f} calibrations\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the core costs.")
    parser.add_argument(
        "--against", type=Path, metavar="TREE", help="another tree, measured in turns with this"
    )
    parser.add_argument("--repeats", type=int, default=3, help="processes for each tree")
    parser.add_argument("--json", action="store_true", help="print the figures for a program")
    options = parser.parse_args()
    if options.json:
        sys.stdout.write(json.dumps(measure()))
        return
    trees = [ROOT, options.against] if options.against else [ROOT]
    taken: dict[Path, list[dict[str, float]]] = {tree: [] for tree in trees}
    for _ in range(options.repeats):
        for tree in trees:
            taken[tree].append(of_tree(tree))
    for tree, rounds in taken.items():
        show(str(tree), {row: median(each[row] for each in rounds) for row in ROWS})


if __name__ == "__main__":
    main()
