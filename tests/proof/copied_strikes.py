"""Strikes a scenario inside a copy of the tree, at each step until an invariant breaks.

python -m tests.proof.copied_strikes SCENARIO STRIKE
python -m tests.proof.copied_strikes SCENARIO STRIKE K SCENARIO STRIKE K ...    only these points
"""

import sys

from tests.strikes.inject import SEED, quiet, run_point, steps_of
from tests.strikes.plots import plots

from .in_copy import BROKEN, NOTICED, OVERDUE, WELL, leave


def first_break(scenario: str, strike: str) -> tuple[int, str]:
    """Return the first step at which the strike breaks something, in a scenario that passes when nothing strikes."""
    plot = plots()[scenario]
    if calm := run_point(plot, strike, 0).broken:
        return BROKEN, f"breaks without a strike: {calm[0]}"
    steps = steps_of(plot)
    for k in range(1, steps + 1):
        point = run_point(plot, strike, k)
        if point.broken:
            said = f"k={k} of {steps}: {point.broken[0]} (seed {SEED})"
            return OVERDUE if point.hung else NOTICED, said
    return WELL, f"nothing broke in {steps} steps"


def these(words: list[str]) -> tuple[int, str]:
    """Return whether one of these points breaks something."""
    for scenario, strike, k in zip(words[::3], words[1::3], words[2::3], strict=True):
        point = run_point(plots()[scenario], strike, int(k))
        if point.broken:
            return NOTICED, f"{scenario} {strike} {k}: {point.broken[0]}"
    return WELL, f"{len(words) // 3} points"


if __name__ == "__main__":
    with quiet():
        status, said = first_break(*sys.argv[1:]) if len(sys.argv) == 3 else these(sys.argv[1:])
    leave(status, said)
