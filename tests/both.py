"""What a server promises it promises however many processes it is: proofs that start one run against a pair, too.

    @both             one server and two workers, both in `pytest -m proof`
    @both_at_length   the same, but two workers only in `pytest -m pair`, which repeats what takes minutes

tests/workers proves what only several processes can break. Left out is what says nothing about a pair: proofs of what
runs in the test's own process (strikes, drawn clients, fuzz, the Autobahn cases, `agent soak --self`, documents,
models), of which each worker is one more; proofs of a ledger's file, which its own processes already share
(tests/proof/test_ledger_kill.py); and a chat under a terminal, which sees one connection.
"""

from typing import TypeAlias

import pytest

Flags: TypeAlias = tuple[str, ...]
ONE: Flags = ()
TWO: Flags = ("--workers", "2")
_AT_LENGTH = "pair"

EACH = [pytest.param(ONE, id="one-server"), pytest.param(TWO, id="two-workers")]
EACH_AT_LENGTH = [EACH[0], pytest.param(TWO, id="two-workers", marks=pytest.mark.pair)]
both = pytest.mark.parametrize("workers", EACH)
both_at_length = pytest.mark.parametrize("workers", EACH_AT_LENGTH)


def leave_out_lengths(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is only for `-m pair`, unless the run names that, or a test by itself."""
    if _AT_LENGTH in config.option.markexpr.split() or any("::" in each for each in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker(_AT_LENGTH) is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
