"""What an examination inside a copy of the tree may end with, and the check that it is the copy that is examined."""

import sys
from pathlib import Path

import agent

WELL = 40  # not 0 or 1, which an interpreter that breaks on its way could end with too
NOTICED = 41  # the last line printed says what
BROKEN = 42
CRASHED = 43  # something fell over: that is no test of the promise
OVERDUE = 44  # it hangs, and was ended


def leave(status: int, said: str) -> None:
    """End the process with a status and a last line; BROKEN when the `agent` at hand is not the one of this folder."""
    if not Path(agent.__file__).resolve().is_relative_to(Path.cwd().resolve()):
        status, said = BROKEN, f"{agent.__file__} is not the copy's"
    sys.stdout.write(f"\n{said}\n")
    sys.exit(status)
