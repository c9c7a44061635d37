"""The settings of actions."""

from dataclasses import dataclass
from typing import Literal

from ..config import check, finite


@dataclass(frozen=True, slots=True)
class ActionSettings:
    """The place where actions are carried out, and the source of their fields.

    Raises `agent.errors.UsageError`, one line that names the setting, for an impossible value.

    Args:
        action_webhook: URL that confirmed actions are posted to. Without it, actions are only recorded.
        action_delay_ms: Milliseconds that a recorded action takes, BEFORE[,AFTER] the point of no return.
        payloads: Source of an action's fields: words reads them from the message; model asks the language model too,
            and takes only numbers, names and times that the user wrote. Keywords choose the action.
    """

    action_webhook: str | None = None
    action_delay_ms: tuple[float, float] = (0.0, 0.0)
    payloads: Literal["words", "model"] = "words"

    def __post_init__(self) -> None:
        """Check the values beyond their types."""
        check(
            finite(*self.action_delay_ms),
            (
                self.action_webhook is not None
                and not self.action_webhook.startswith(("http://", "https://")),
                "action-webhook must be a URL that begins with http:// or https://",
            ),
            (min(self.action_delay_ms) < 0, "action-delay-ms must not be negative"),
            (self.payloads not in ("words", "model"), "payloads must be words or model"),
        )
