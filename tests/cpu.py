"""Seconds of CPU, as an ordinary machine would take them.

A bound in seconds says how much work there may be, and not how fast the machine is that does it. A virtual machine
takes two or three times as long for the same work while its neighbours compute. So what is measured is divided by how
much longer than usual a fixed computation takes at that moment.
"""

from collections.abc import Callable
from time import thread_time

USUAL = 0.003
"""Seconds of CPU that count as ordinary for `_compute`; a shared machine took 0.0042 alone, 0.006 beside other work."""


def measure_cpu(work: Callable[[], object], clock: Callable[[], float] = thread_time) -> float:
    """Do the work, and return the seconds of CPU that it would take on an ordinary machine."""
    before = slowness()
    began = clock()
    work()
    spent = clock() - began
    return spent / max(before, slowness())


def slowness() -> float:
    """Return how many times as long as on an ordinary machine a computation takes now; 1 on any that is faster."""
    return max(1.0, min(_compute(), _compute()) / USUAL)


def _compute() -> float:
    began = thread_time()
    counts: dict[str, int] = {}
    for number in range(20_000):
        word = f"{number % 997}"
        counts[word] = counts.get(word, 0) + len(word)
    return thread_time() - began
