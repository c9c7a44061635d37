"""How many instructions a process executes in user mode: the measure that a busy machine does not change.

Times move by a factor of two with who else is at work; instructions repeat within a few hundredths. Two things can
count them: the processor, through `perf stat`, where there is one and it may; or valgrind's callgrind, which runs the
process itself and slows it twentyfold, so only a server that was started under it (`under_callgrind`) is counted so,
and its times mean nothing. A virtual machine without counters says `<not supported>`; then there is only the second.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from .line import Failed
from .process import family

EVENT = "instructions:u"
_ATTACH = 0.3  # seconds that perf is given to attach
_PATIENCE = 60.0  # seconds for what counts to answer


class Counter(Protocol):
    """Counts the instructions of a process from `start` to `stop`."""

    def start(self) -> None:
        """Begin to count."""
        ...

    def stop(self) -> int:
        """Return how many there were."""
        ...


def why_no_perf() -> str | None:
    """Return why `perf stat` cannot count here, or None when it can."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    done = subprocess.run(["perf", "stat", "-x", ",", "-e", EVENT, "true"], capture_output=True, text=True)
    try:
        counted(done.stderr)
    except Failed as error:
        return str(error)
    return None


def counted(told: str) -> int:
    """Return the instructions in what `perf stat -x,` told. Raises Failed when there are none."""
    for line in told.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("instructions"):
            if fields[0].isdigit():
                return int(fields[0])
            raise Failed(f"perf cannot count instructions here: {fields[0].strip('<>')}")
    raise Failed(f"perf cannot count instructions here: {' '.join(told.split())[:200]}")


class Perf:
    """`perf stat` on a process and the children that it has by now."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._perf: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Attach to the process; takes a moment."""
        pids = ",".join(map(str, family(self._pid)))
        self._perf = subprocess.Popen(
            ["perf", "stat", "-x", ",", "-e", EVENT, "-p", pids],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        time.sleep(_ATTACH)

    def stop(self) -> int:
        """Let go of the process. Raises Failed when nothing was counted."""
        assert self._perf is not None, "not started"
        self._perf.send_signal(signal.SIGINT)
        return counted(self._perf.communicate(timeout=_PATIENCE)[1])


def why_no_callgrind() -> str | None:
    """Return why callgrind cannot count here, or None when it can."""
    missing = [name for name in ("valgrind", "callgrind_control") if shutil.which(name) is None]
    return f"{' and '.join(missing)} is not installed" if missing else None


def under_callgrind(command: Sequence[str], folder: Path, more: Sequence[str] = ()) -> list[str]:
    """Return a command that runs `command` so that `Callgrind` can count it.

    folder: for what it writes. more: options of callgrind.
    """
    options = ("--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out")
    return ["valgrind", *options, *more, *command]


class Callgrind:
    """callgrind in a process that was started by `under_callgrind`."""

    def __init__(self, pid: int, folder: Path) -> None:
        self._pid = pid
        self._folder = folder

    def start(self) -> None:
        """Begin to count, from nothing."""
        self._tell("-i", "on")
        self._tell("-z")

    def stop(self) -> int:
        """Stop counting. Raises Failed when nothing was counted."""
        before = set(self._folder.glob("out.*"))
        self._tell("-d")
        (told,) = set(self._folder.glob("out.*")) - before
        self._tell("-i", "off")
        for line in told.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name in ("summary", "totals"):
                return int(value)
        raise Failed("callgrind has counted nothing")

    def _tell(self, *words: str) -> None:
        done = subprocess.run(
            ["callgrind_control", *words, str(self._pid)], capture_output=True, text=True, timeout=_PATIENCE
        )
        if "OK" not in done.stdout:
            raise Failed(f"callgrind does not answer: {' '.join((done.stdout + done.stderr).split())[:200]}")
