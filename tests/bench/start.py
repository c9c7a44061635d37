"""What a start with many documents costs, the first and the next: `python -m tests.bench.start [FOLDER]`.

A server with the default settings and a data folder reads pages until `/readyz` welcomes clients; then it writes what
it has read for the next start, until it is at rest; then it is stopped by SIGTERM and started again on the same
folders. Times are processor time, user and kernel, of the server and the processes that it starts, as shares of R
(`turn.reference`), which this process measures before each start. Clocks are told beside them.

The pages are those of FOLDER, else of `kb/` and the guide, again and again until there are enough. In a copy each
heading has the copy's number, and each word that only one page has is spelled otherwise: so no two sections are alike,
and the number of different words grows with the pages, as it does in a collection. Files of FOLDER that are no text
documents are left out.

Exit status 1 when a figure of 1,600 pages, on a quiet machine, is beyond its bound.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from compileall import compile_dir
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from statistics import median
from urllib.error import HTTPError
from urllib.request import urlopen

from .load.process import PROC, between, family, taken
from .servers import ROOT, port_of
from .tools import Figure
from .turn import best_reference, line_of, share

PAGES = 1600
FIRST, AGAIN = 352.0, 70.0
"""R until a server of so many pages is ready: 10 and 2 seconds of a machine whose R is 28.4 ms."""
SUFFIXES = (".md", ".mdx")
_WORD = re.compile(r"[^\W\d_]{5,}")
_HEADING = re.compile(r"^#+ .*\S", re.MULTILINE)
_REST = 2.0  # seconds in which a server is at rest when its threads take and want at most a hundredth of them
_APART = 1.0  # seconds between two looks at R while a server reads
_LATER = 0.03  # share of the time so far between two looks whether a server is ready
_PATIENCE = 600.0  # seconds


@dataclass(frozen=True, slots=True)
class Page:
    """A page. `suffix`: of its file, which says how it is read."""

    suffix: str
    text: str


def pages_of(folders: Sequence[Path]) -> list[Page]:
    """Return the text documents below some folders."""
    paths = [path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
    return [Page(path.suffix, path.read_text("utf-8")) for path in paths]


def copies(pages: Sequence[Page]) -> Iterator[Page]:
    """Yield the pages, then their first copies, and so on without an end."""
    holders = Counter(word for page in pages for word in {*_WORD.findall(page.text)})
    for number in count():

        def respell(found: re.Match[str], by: int = number) -> str:
            word = found[0]
            at = by % len(word)
            return word if holders[word] > 1 else word[at:] + word[:at] + "o" * (by // len(word))

        for page in pages:
            text = _HEADING.sub(rf"\g<0> {number}", _WORD.sub(respell, page.text)) if number else page.text
            yield Page(page.suffix, text)


def lay(folder: Path, pages: Sequence[Page], size: int) -> int:
    """Write `size` pages into a new folder, a hundred in each of its folders; return their bytes."""
    written = 0
    for number, page in enumerate(islice(copies(pages), size)):
        path = folder / f"{number // 100}" / f"{number}{page.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        written += path.write_bytes(page.text.encode())
    return written


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and the processes that it started, with the threads that ended."""
    ticks = 0
    for each in family(pid):
        fields = (PROC / str(each) / "stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def started(kb: Path, data: Path) -> Iterator[tuple[int, int]]:
    """Run a server for the time of a block; give its process and its port. It is stopped by SIGTERM."""
    command = [sys.executable, "-m", "agent", "serve", "--port", "0", "--kb", str(kb), "--data", str(data)]
    process = subprocess.Popen(
        [*command, "--log-level", "error"], cwd=ROOT, text=True, stdout=subprocess.PIPE
    )
    try:
        yield process.pid, port_of(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE) == 0, "the server has failed"
    finally:
        process.kill()
        process.communicate()


def is_ready(port: int) -> bool:
    """Return whether a server welcomes clients."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=_PATIENCE):
            return True
    except HTTPError as error:
        error.close()
        return False


def measure(name: str, kb: Path, data: Path, bound: float) -> Iterator[Figure]:
    """Start a server and stop it; yield what it took until it was ready, and until it was at rest."""
    r, began = best_reference(), time.monotonic()
    meanwhile = [r]
    with started(kb, data) as (pid, port):
        while not is_ready(port):
            since = time.monotonic() - began
            assert since < _PATIENCE, "the server is not ready"
            if since > _APART * len(meanwhile):
                meanwhile.append(best_reference(1))
            time.sleep(max(0.01, _LATER * since))
        ready, clock = processor_seconds(pid), time.monotonic() - began
        note = f", meanwhile {1000 * median(meanwhile):.1f} ms, clock {clock:.1f} s"
        yield share(f"{name}, until ready", ready, r, bound, note)
        while wants_processor(pid):
            pass
        yield share(f"{name}, until at rest", processor_seconds(pid), r)


def wants_processor(pid: int) -> bool:
    """Return whether a process has something to do, after a look at it for `_REST` seconds."""
    before = taken(pid)
    time.sleep(_REST)
    spent = between(before, taken(pid))
    return spent.cpu + (spent.waited or 0) > _REST / 100


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Print the figures, and return the exit status."""
    parser = argparse.ArgumentParser("python -m tests.bench.start")
    parser.add_argument("folder", nargs="?", type=Path, help="text documents, in place of those of the house")
    parser.add_argument("--pages", type=int, default=PAGES)
    told = parser.parse_args(arguments)
    pages = pages_of([told.folder] if told.folder else [ROOT / "kb", ROOT / "agent" / "guide"])
    bounds = (FIRST, AGAIN) if told.pages == PAGES else (float("inf"), float("inf"))
    missed = False
    compile_dir(ROOT / "agent", quiet=1)  # as an installation does
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        kb, data = Path(name, "kb"), Path(name, "data")
        say(f"{told.pages} pages of {lay(kb, pages, told.pages) / 1e6:.1f} MB, made of {len(pages)}")
        for start, bound in zip(("the first start", "the next start"), bounds, strict=True):
            for figure in measure(start, kb, data, bound):
                say(line_of(figure))
                missed |= figure.missed
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
