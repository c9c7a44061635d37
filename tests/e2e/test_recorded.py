"""What a real model said, played again: no lie of it reaches a client, in any way of answering."""

from collections import Counter
from typing import Any

import pytest
import trio.testing

from tests.examples import sample
from tests.real.recorded import DATA, QUESTIONS, asked, settings

from .independent import shown, unsupported

MODES: dict[str, dict[str, Any]] = {
    "whole": {"verify": "whole"},
    "sentences": {"verify": "sentence"},
    "strict": {"verify": "whole", "binding": "strict"},
}
# In sentence mode a draft that fails is not heard to its end, and then it was not recorded: the model fails there.
FAILED = {"whole": 1, "sentences": 3, "strict": 1}


@pytest.mark.parametrize("mode", sample(MODES, 3))
async def test_no_lie_of_a_real_model_is_told(mode: str, autojump_clock: trio.testing.MockClock) -> None:
    """It answers some questions, and is refused for what it makes up; no number is told that no citation holds."""
    responses = await asked(settings(f"replay:{DATA}", **MODES[mode]), QUESTIONS)
    ended = Counter(response.get("blocked", {}).get("code", "answered") for response in responses)
    assert ended["model_failed"] <= FAILED[mode], (
        "what it is asked has changed: python -m tests.real.recorded"
    )
    assert ended["answered"] >= 5
    assert ended["number_mismatch"] >= 3
    for response in responses:
        assert unsupported(response["text"], shown(response["citations"])) == []
