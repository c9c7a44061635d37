"""How many instructions the server needs, against instructions.toml: `python -m tests.bench.instructions [--keep]`.

Times depend on the other work of a machine; instructions do not. callgrind counts those of `counted.py`, a server and
its client in one process, which takes half a minute of one core.

    delta       of flat answers of 200 words, by word
    turn        of a question on `kb/` that is asked again and again
    different   of questions on `kb/` of which none is asked twice
    remembered  of questions that only what their user said before answers, kept in a folder
    chat        of the same over `POST /chat`, each in a new thread
    connection  of a session that connects and leaves without a question

All are thousands, and each question is searched for: the server keeps no hits. Exit status 1 says that a figure is
more than its tolerance dearer than it is kept. Each build of Python needs its own number of instructions, so
figures are kept by interpreter: `--keep` replaces those of the interpreter at hand. Where there are none for it, or no
valgrind, a line says so and the exit status is 0. `pytest -m bench` compares too.
"""

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.bench.load.counters import Callgrind, under_callgrind, why_no_callgrind

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "instructions.toml"
FIGURES = ("delta", "turn", "different", "remembered", "chat", "connection")
TOLERANCE = 0.03  # runs on a machine with seven times its load differed by less than 0.003
TOLERANCES = {
    "remembered": 0.06
}  # it has two values, 4.6 % apart: the thread that writes recall's index may be late
KEEP = "python -m tests.bench.instructions --keep"
_HEAD = """\
# Thousands of instructions in user mode that the server needs, by interpreter, counted by callgrind.
# Made by `python -m tests.bench.instructions --keep`, compared by the same without `--keep`.
"""
_SEED = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
_PATIENCE = 60.0  # seconds for the process to end


def name_interpreter() -> str:
    """Return the name of this interpreter's build: its version, its compiler, and whether that optimized it."""
    optimized = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    build = [platform.python_compiler(), platform.machine(), *(["optimized"] if optimized else [])]
    return f"{platform.python_implementation()} {platform.python_version()} ({', '.join(build)})"


def read_kept() -> dict[str, dict[str, float]]:
    """Return the kept figures by interpreter and name, in thousands."""
    return tomllib.loads(KEPT.read_text(encoding="utf-8"))


def why_not() -> str | None:
    """Return why instructions cannot be counted and compared here, or `None` when they can."""
    if missing := why_no_callgrind():
        return f"instructions are not counted: {missing}"
    if name_interpreter() not in read_kept():
        return f"instructions are not compared: none are kept for {name_interpreter()}; keep them, {KEEP}"
    return None


def count(work: Sequence[str] = ("tests.bench.counted",), options: Sequence[str] = ()) -> dict[str, float]:
    """Count all figures, in thousands: the median of rounds. Raises `Failed` when callgrind does not answer.

    `work`: the module that does the work, and its arguments. `options`: of callgrind, to count only some of it.
    """
    rounds: dict[str, list[float]] = {name: [] for name in FIGURES}
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as temporary:
        folder = Path(temporary)
        command = under_callgrind([sys.executable, "-m", *work], folder, options)
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=ROOT, env=os.environ | _SEED, stdin=pipe, stdout=pipe, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            counter = Callgrind(process.pid, folder)
            try:
                for line in process.stdout:
                    name, units = line.split()
                    counter.start()
                    process.stdin.write("\n")
                    process.stdin.flush()
                    assert process.stdout.readline() == "done\n"
                    rounds[name].append(counter.stop() / int(units) / 1000)
                assert process.wait(_PATIENCE) == 0
            finally:
                process.kill()
    return {name: median(each) for name, each in rounds.items()}


def compare(found: Mapping[str, float], kept: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Return a sentence for each figure that is dearer than it is kept, and for each that is cheaper, in thousands."""
    dearer, cheaper = [], []
    for name in [each for each in FIGURES if each in kept]:  # a newer figure is kept by the next `--keep`
        now, before = found[name], kept[name]
        change = now / before - 1
        told = f"{name}: {now:.1f} thousand instructions are {abs(change):.1%}"
        tolerance = TOLERANCES.get(name, TOLERANCE)
        if change > tolerance:
            dearer.append(f"{told} more than the {before:.1f} that are kept")
        elif change < -tolerance:
            cheaper.append(f"{told} fewer than the {before:.1f} that are kept: keep them, {KEEP}")
    return dearer, cheaper


def write(kept: Mapping[str, Mapping[str, float]]) -> None:
    """Keep these figures, by interpreter and name."""
    tables = (
        f'\n["{interpreter}"]\n'
        + "".join(f"{name} = {figures[name]:.1f}\n" for name in FIGURES if name in figures)
        for interpreter, figures in sorted(kept.items())
    )
    KEPT.write_text(_HEAD + "".join(tables), encoding="utf-8")


def main(say: Callable[[str], object]) -> int:
    """Count and compare, or keep; return the exit status."""
    keep, here = "--keep" in sys.argv[1:], name_interpreter()
    reason = why_no_callgrind() if keep else why_not()
    if reason is not None:
        say(f"{reason}\n")
        return int(keep)
    found, every = count(), read_kept()
    kept = every.get(here, found)
    say(f"thousands of instructions under {here}\n")
    for name in FIGURES:
        told = f"{kept[name]:10.1f}   {found[name] / kept[name] - 1:+7.2%}" if name in kept else "nothing"
        say(f"{name:12} {found[name]:10.1f}   kept {told}\n")
    if keep:
        write(every | {here: found})
        return 0
    dearer, cheaper = compare(found, kept)
    for sentence in dearer + cheaper:
        say(f"{sentence}\n")
    return int(bool(dearer))


if __name__ == "__main__":
    sys.exit(main(sys.stdout.write))
