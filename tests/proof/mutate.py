"""Mutations of the safety code: each is applied to a copy of the tree, and what stands beside it must notice.

    python -m tests.proof.mutate            all of mutants.toml
    python -m tests.proof.mutate NAME...    some
    python -m tests.proof.mutate --check    find the place of each, and run no test: some seconds

Prints each verdict as it comes with the count and the time, then those that were not killed and the sum; exit status
1 when one survives, or cannot be applied or examined any more. A mutation counts as killed only by a test whose
assertion fails, or by an invariant that breaks: not by a test that hangs and had to be ended, not by one that falls
over something else, not by a copy that cannot be imported, and not by tests that fail on the untouched copy too, which
is examined in the same run.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.diagrams import PACKAGE, parse_modules
from tests.servers import SERVER, start_server

from .anchors import AnchorError, Package
from .in_copy import CRASHED, NOTICED, OVERDUE, WELL
from .warm import Warm

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutants.toml")
COPIED = ("agent", "tests", "kb", "diagrams", "pyproject.toml", "README.md")
PROOFS = ("-m", "proof")  # of the tests that are named
TESTS, STRIKES = "tests.proof.copied_tests", "tests.proof.copied_strikes"
AT_ONCE = 2
PARSING = threading.Lock()  # CPython 3.11 fails where two threads parse at once (python/cpython#106905)
HANGS = 600.0  # seconds for one examination, whose every test and run has a shorter deadline
DEADLINE = (
    200.0  # seconds for one test, which takes a few; where these give way to others, many times as long
)
OUTCOMES = {WELL: "survived", NOTICED: "killed", CRASHED: "crashed", OVERDUE: "hung", None: "hung"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mutation: in the definition `at` the fragment `find` becomes `replace`. See mutants.toml.

    What is not Python has no definitions: there, in `file` (below agent/), the text `old`, which occurs once, becomes
    `new`.
    """

    name: str
    why: str
    at: str = ""
    find: str = ""
    replace: str = ""
    nth: int | None = None
    file: str = ""
    old: str = ""
    new: str = ""
    tests: tuple[str, ...] = ()
    strike: tuple[str, ...] = ()
    planted: bool = False
    served: bool = False
    deadline: float = DEADLINE

    def find_file(self, package: Package) -> Path:
        """Return the file to mutate, below agent/; raises AnchorError when it is not there."""
        return package.find_file(self.at.partition(":")[0]) if self.at else Path(self.file)

    def apply(self, package: Package, text: str) -> str:
        """Return the text of the file with the mutation; raises AnchorError when its place is not there once."""
        if self.at:
            return package.mutate_module(text, self.at, self.find, self.replace, self.nth)
        if text.count(self.old) != 1:
            raise AnchorError(f"its text occurs {text.count(self.old)} times in agent/{self.file}")
        return text.replace(self.old, self.new)

    def check_place(self, package: Package) -> str:
        """Return what is wrong with the place of the mutation, and the nearest candidates; "" when it is there."""
        try:
            if self.at:
                package.find_place(self.at, self.find, self.replace, self.nth)
            else:
                self.apply(package, (ROOT / "agent" / self.file).read_text(encoding="utf-8"))
        except (AnchorError, OSError) as error:
            return f"{self.name}: {error}"
        return ""

    @property
    def examination(self) -> tuple[str, ...]:
        """The command, run in the copy, that must notice."""
        if self.strike:
            return (STRIKES, *self.strike)
        return (TESTS, f"--deadline={self.deadline:g}", *(PROOFS if self.served else ()), *self.tests)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant, and what noticed it.

    killed: by an assertion or an invariant. survived. hung, crashed: something was noticed, and not what is wrong.
    broken: it could not be examined.
    """

    mutant: Mutant
    outcome: str
    by: str
    seconds: float

    def __str__(self) -> str:
        where = " ".join(self.mutant.strike)
        by = f"{where} {self.by}" if where else self.by
        mark = "*" if self.mutant.planted else " "
        place = self.mutant.at or self.mutant.file
        return f"{self.outcome:9}{mark} {self.mutant.name:38} {place:40} {self.seconds:5.1f} s  {by}"


def mutants(names: Sequence[str] = ()) -> tuple[Mutant, ...]:
    """Return the mutants of the list, or those of these names; raises KeyError for one that is not there."""
    rows: list[dict[str, Any]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutant"]
    by_name = {mutant.name: mutant for mutant in map(_mutant, rows)}
    assert len(by_name) == len(rows), "two mutants have one name, so that one of them is never tried"
    return tuple(by_name[name] for name in names or by_name)


def _mutant(row: dict[str, Any]) -> Mutant:
    return Mutant(**row | {key: tuple(row.get(key, ())) for key in ("tests", "strike")})


def copy_tree(to: Path) -> None:
    """Copy what tests need, compiled modules too; a module's compiled form goes by its time, which is kept."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns(".hypothesis", "*.tmp"))
        elif source.exists():
            shutil.copy2(source, to / name)


def check_places(chosen: Sequence[Mutant]) -> list[str]:
    """Return what is wrong with the places of these mutants, one line each; no test is run."""
    package = Package(ROOT / "agent", parse_modules(PACKAGE))
    return [wrong for mutant in chosen if (wrong := mutant.check_place(package))]


def judge(mutant: Mutant, clean: Path, room: Path, warm: Warm) -> Verdict:
    """Apply a mutant to a copy of `clean` in `room`, examine it, and remove the copy.

    The copy of `agent` is made of hard links and the rest is one link each, which takes a twentieth of the time:
    nothing that is examined writes into a file that is there (compiled modules are replaced, not overwritten), and the
    mutated module is a file of its own.
    """
    began = time.perf_counter()
    copy = room / mutant.name
    shutil.copytree(clean / "agent", copy / "agent", copy_function=os.link)
    for name in COPIED:
        if name != "agent":
            (copy / name).symlink_to(clean / name)
    try:
        package = Package(copy / "agent")
        try:
            module = copy / "agent" / mutant.find_file(package)
            with PARSING:
                text = mutant.apply(package, module.read_text(encoding="utf-8"))
            module.unlink()
            module.write_text(text, encoding="utf-8")
        except (ValueError, OSError) as error:
            return Verdict(mutant, "broken", str(error), 0.0)
        for compiled in module.parent.glob(f"__pycache__/{module.stem}.*"):
            compiled.unlink()
        status, said = warm.examine(copy, *mutant.examination)
    finally:
        shutil.rmtree(copy)
    said = said.replace(f"{copy}/", "")
    return Verdict(mutant, OUTCOMES.get(status, "broken"), said, time.perf_counter() - began)


def check_tests(warm: Warm, clean: Path, chosen: Sequence[Mutant]) -> str:
    """Return what fails on the untouched copy, of all tests that shall kill a mutant; "" when nothing does."""
    plain, served = (
        sorted({node for mutant in chosen if mutant.served is kind for node in mutant.tests})
        for kind in (False, True)
    )
    deadline = f"--deadline={DEADLINE:g}"
    return _fails(warm, clean, TESTS, plain and [deadline, *plain]) or _fails(
        warm, clean, TESTS, served and [deadline, *PROOFS, *served]
    )


def check_strikes(warm: Warm, clean: Path, verdicts: Sequence[Verdict]) -> str:
    """Return what fails on the untouched copy, of all strikes that killed a mutant; "" when nothing does."""
    struck = [verdict for verdict in verdicts if verdict.mutant.strike and verdict.by.startswith("k=")]
    return _fails(
        warm,
        clean,
        STRIKES,
        [word for each in struck for word in (*each.mutant.strike, each.by[2:].split()[0])],
    )


def _fails(warm: Warm, clean: Path, module: str, arguments: Sequence[str]) -> str:
    status, said = warm.examine(clean, module, *arguments) if arguments else (WELL, "")
    return "" if status == WELL else said or f"{module} ended with {status}"


@contextmanager
def _serve(chosen: Sequence[Mutant]) -> Iterator[None]:
    """Have one PostgreSQL server for all that need one, which ends with this process: each examination is killed."""
    if any(mutant.served for mutant in chosen) and SERVER not in os.environ:
        os.environ[SERVER] = start_server()
        try:
            yield
        finally:
            del os.environ[SERVER]
    else:
        yield


def run(
    chosen: Sequence[Mutant], tell: Callable[[int, Verdict], object] = lambda _done, _verdict: None
) -> tuple[list[Verdict], str]:
    """Judge these mutants, two at a time; return the verdicts, and what fails without any mutation ("": nothing).

    tell: called with the count of verdicts so far and the latest, as each comes.
    """
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, _serve(chosen), Warm(HANGS) as warm:
        room = Path(folder)
        clean = room / "clean"
        clean.mkdir()
        copy_tree(clean)
        unclean = check_tests(warm, clean, chosen)  # first: what it compiles is copied with the tree
        with ThreadPoolExecutor(AT_ONCE) as pool:
            judged = [pool.submit(judge, mutant, clean, room, warm) for mutant in chosen]
            for done, each in enumerate(as_completed(judged), 1):
                tell(done, each.result())
        verdicts = [each.result() for each in judged]
        return verdicts, unclean or check_strikes(warm, clean, verdicts)


def report(verdicts: Sequence[Verdict], unclean: str) -> str:
    """Return the table, the planted bugs with the first step that shows them, and the sum."""
    return "\n".join([*map(str, verdicts), *summarise(verdicts, unclean)])


def summarise(verdicts: Sequence[Verdict], unclean: str) -> list[str]:
    """Return the sum in one line, and another for what fails without any mutation."""
    planted = [each for each in verdicts if each.mutant.planted]
    killed = sum(each.outcome == "killed" for each in verdicts)
    found = sum(each.outcome == "killed" for each in planted)
    lines = [
        f"{killed} of {len(verdicts)} mutants killed by an assertion or an invariant; "
        f"of {len(planted)} planted bugs (*) {found} found"
    ]
    if unclean:
        lines.append(f"without any mutation this fails too, so it proves nothing: {unclean}")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Judge the named mutants, or all, or with --check look for their places; print and return the exit status."""
    began = time.perf_counter()
    chosen = mutants([each for each in arguments if each != "--check"])
    if "--check" in arguments:
        lost = check_places(chosen)
        lines = [*lost, f"{len(chosen) - len(lost)} of {len(chosen)} mutants have their place"]
        sys.stdout.write("\n".join(lines) + f"\n{time.perf_counter() - began:.1f} s\n")
        return bool(lost)

    def tell(done: int, verdict: Verdict) -> None:
        sys.stdout.write(f"{done:4} of {len(chosen)} {time.perf_counter() - began:6.0f} s  {verdict}\n")
        sys.stdout.flush()

    verdicts, unclean = run(chosen, tell)
    left = [str(each) for each in verdicts if each.outcome != "killed"]
    sys.stdout.write("\n".join(["", *left, *summarise(verdicts, unclean)]))
    sys.stdout.write(f"\n{time.perf_counter() - began:.1f} s\n")
    return bool(unclean or left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
