"""The settings of the mock model (`MockSettings`). Above them, the limit that modules of this room share."""

from dataclasses import dataclass

from ..config import check, finite

DECISION_MAX = 64 * 1024  # characters of a model's decision, with its arguments and its JSON


@dataclass(frozen=True, slots=True)
class MockSettings:
    """How the mock model drafts answers.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        mock_hallucinate: Share of the mock's drafts that hold an invented number, 0 to 1.
        mock_seed: Seed of the mock. The same seed gives the same run.
        mock_delay_ms: Milliseconds before each piece of the mock's draft.
        mock_ask: Score of the best snippet, 0 to 1, below which the mock asks back. 0 is never.
    """

    mock_hallucinate: float = 0.0
    mock_seed: int = 0
    mock_delay_ms: float = 0.0
    mock_ask: float = 0.0

    def __post_init__(self) -> None:
        """Check the conditions that types cannot express."""
        check(
            finite(self.mock_delay_ms),
            (not 0 <= self.mock_hallucinate <= 1, "mock-hallucinate must be 0 to 1"),
            (self.mock_delay_ms < 0, "mock-delay-ms must not be negative"),
            (not 0 <= self.mock_ask <= 1, "mock-ask must be 0 to 1"),
        )
