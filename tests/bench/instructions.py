"""How many instructions our server needs, kept in instructions.toml: `python -m tests.bench.instructions [--keep]`.

Times depend on who else is at work; instructions do not. perf counts them where it can, else callgrind does, which
takes a minute. They are those of the whole server in user mode, so a delta's share of its turn is in it.

    delta       of flat answers of 200 words, by word, 10 sessions
    turn        of a question on `kb/` that is asked again and again
    different   of questions on `kb/` of which none is asked twice
    connection  of a session that connects and is let go without a question

All are thousands, and each question is searched for: the server keeps no hits. `pytest -m bench` compares, `--keep`
writes what was counted.
"""

import platform
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from tests.bench.load.client import Load
from tests.bench.load.counters import Counter, why_no_callgrind
from tests.bench.load.meter import Measured, Meter
from tests.bench.load.workloads import Plan, talk
from tests.e2e.questions import questions

from .servers import QUESTION, ROOT, How, Running, ours, perf_can, running

KEPT = Path(__file__).parent / "instructions.toml"
FIGURES = ("delta", "turn", "different", "connection")
TOLERANCE = {
    "callgrind": 0.05,
    "perf": 0.12,
}  # callgrind's repeat within 0.03; perf sees a little more or less
SAME = "Tell me about Right of withdrawal."
SESSIONS, CONNECTIONS = 10, 40
PYTHON = "3.11"  # whose figures are kept: each version of Python needs its own number
_HEAD = """\
# Thousands of instructions in user mode that the server needs, counted by callgrind under Python {python}.
# Made by `python -m tests.bench.instructions --keep`; compared by `pytest -m bench`.

"""


def why_not() -> str | None:
    """Return why instructions cannot be compared here, or None when they can."""
    if (
        not platform.python_version().startswith(f"{PYTHON}.")
        or platform.python_implementation() != "CPython"
    ):
        return f"the kept figures are those of CPython {PYTHON}, this is {platform.python_version()}"
    if perf_can():
        return None
    missing = why_no_callgrind()
    return f"perf cannot count instructions here, and {missing}" if missing else None


def counted_by() -> str:
    """Return what counts here."""
    return "perf" if perf_can() else "callgrind"


def kept() -> dict[str, float]:
    """Return the figures that are kept, by name, in thousands."""
    return tomllib.loads(KEPT.read_text(encoding="utf-8"))


def count() -> dict[str, float]:
    """Count all figures, in thousands. Takes a minute; raises Failed when nothing can count."""
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as temporary:
        folder = Path(temporary)
        with running(ours(), How(200, 0), folder, counting=not perf_can()) as server:
            _talk(server, None, 1, [QUESTION])
            delta = _talk(server, server.counter, 2, [QUESTION])["ki_per_delta"]
        asked = [each.text for each in questions(ROOT / "kb", 400)]
        few, others = asked[::20][:SESSIONS], asked[10::20][: 2 * SESSIONS]
        with running(ours(), How(0, 0), folder, counting=not perf_can()) as server:
            _talk(server, None, 1, few)
            _talk(server, None, 1, [SAME])
            turn = _talk(server, server.counter, 2, [SAME])["ki_per_turn"]
            different = _talk(server, server.counter, 2, others)["ki_per_turn"]
            connection = _connect(server)
    return {"delta": delta, "turn": turn, "different": different, "connection": connection}


def _talk(server: Running, counter: Counter | None, turns: int, asked: list[str]) -> Measured:
    with Load() as load:
        return talk(load, server.target, Meter(None, counter), Plan(SESSIONS, turns, asked))


def _connect(server: Running) -> float:
    with Meter(None, server.counter) as meter, Load() as load:
        load.open(server.target, CONNECTIONS, lambda line, turn: None)
    assert meter.instructions is not None
    return meter.instructions / CONNECTIONS / 1000


def compared(name: str, now: float, before: float, tolerance: float) -> str | None:
    """Return what is to be said of a figure, or None when it is what is kept, within the tolerance (0..1)."""
    change = now / before - 1
    if abs(change) <= tolerance:
        return None
    told = f"a {name} takes {now:.1f} thousand instructions, {abs(change):.1%}"
    if change > 0:
        return f"{told} more than the {before:.1f} that are kept"
    return f"{told} fewer than the {before:.1f} that are kept: keep it, python -m tests.bench.instructions --keep"


def main(say: Callable[[str], object]) -> int:
    """Count and compare, or keep; return the exit status."""
    reason = why_not()
    if reason is not None:
        say(f"{reason}\n")
        return 1
    found, before = count(), kept() if KEPT.exists() else {}
    say("thousands of instructions, with --no-hit-cache: each question is searched for\n")
    for name in FIGURES:
        say(f"{name:12} {found[name]:10.1f}   kept {before.get(name, 0):10.1f}\n")
    if "--keep" in sys.argv[1:]:
        lines = "".join(f"{name} = {found[name]:.1f}\n" for name in FIGURES)
        KEPT.write_text(_HEAD.format(python=PYTHON) + lines, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdout.write))
