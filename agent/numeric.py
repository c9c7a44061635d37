"""Lets numpy compute in the thread that calls it, and in no other.

Strategy: its BLAS starts a thread for each core when it is loaded, and they spin while they wait for each other. On two
cores that is 2 to 10 times the CPU for the same product (the smaller, the worse), and both cores are taken from the
event loop. How many threads there are is read from the environment while the library is loaded, so that is where it is
said, for this moment only: programs that this one starts see what the operator set, and where an operator set any of
it, that counts. Where numpy was imported before us it stays as it is. (The package threadpoolctl could change it later,
and for one block only; but no part of this program wants a second thread.)
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OMP_NUM_THREADS")
"""Where numpy's BLAS, whichever it was built with, reads the number of its threads."""


@contextmanager
def one_thread() -> Iterator[None]:
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
