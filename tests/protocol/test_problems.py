"""Every conflict that a store tells has a problem of its own."""

import re

from agent.ports.calls import CallStore
from agent.protocol.problems import FAULTS


def test_each_conflict_of_a_call_has_its_words() -> None:
    """A caller who is told why can do what helps."""
    said = (CallStore.__doc__ or "").split("with a code:")[1].split(";")[0]
    codes = set(re.findall(r"`(\w+)`", said))
    assert len(codes) >= 8
    assert {FAULTS[code].status for code in codes} == {409}
