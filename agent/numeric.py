"""Lets numpy compute in the thread that calls it, and in no other.

Strategy: numpy's BLAS starts a thread for each core when it is loaded, and these spin while they wait for each other.
On two cores that is 2 to 10 times the CPU for the same product (the smaller, the worse), and both cores are taken from
the event loop. BLAS reads the number of threads from the environment while it is loaded, so `use_one_thread` sets the
variables for that moment only: child processes see the operator's values, and any value of the operator's counts. When
numpy was imported before, nothing changes. (The package threadpoolctl could change the number later, for one block
only; but no part of this program needs a second thread.)
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")
"""The variables from which the BLAS libraries that numpy may use read the number of their threads."""


@contextmanager
def use_one_thread() -> Iterator[None]:
    """Import numpy for the first time inside of this block: it then computes in the calling thread alone."""
    ours = "numpy" not in sys.modules and not any(name in os.environ for name in THREADS)
    if ours:
        os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        if ours:
            for name in THREADS:
                os.environ.pop(name, None)
