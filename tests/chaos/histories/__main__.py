"""`python -m tests.chaos.histories --seconds 300`: see the package."""

import argparse
import sys
import tempfile
from pathlib import Path

import trio

from ..rig import built_shim
from .run import Plan, draw_seed, run_plan


def main() -> int:
    """Run once; return 1 where anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.histories")
    parser.add_argument("--seconds", type=float, default=300.0, help="for which there are faults")
    parser.add_argument("--seed", type=int, default=None, help="what clients and faults are drawn from")
    parser.add_argument("--clients", type=int, default=10, help="every third of which comes over a socket")
    chosen = parser.parse_args()
    seed = draw_seed() if chosen.seed is None else chosen.seed
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="shim-") as folder:
        plan = Plan(chosen.seconds, seed, chosen.clients, built_shim(Path(folder)))
        report = trio.run(run_plan, plan)
    sys.stdout.write(f"{report}\n")
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
