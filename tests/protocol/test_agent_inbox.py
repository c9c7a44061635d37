"""The arguments of Agent Inbox, of whose values its front end makes texts."""

from typing import Any

import pytest

from agent.protocol.agent_inbox import read_arguments

SCHEMA = {
    "properties": {
        "count": {"type": "integer"},
        "tags": {"type": "array"},
        "name": {"type": "string"},
        "either": {"type": ["string", "integer"]},
        "odd": True,
    }
}


@pytest.mark.parametrize(
    ("sent", "shown", "read"),
    [
        ({"count": "2"}, {"count": 1}, {"count": 2}),
        ({"count": "1"}, {"count": 1}, {"count": 1}),
        ({"count": "many"}, {"count": 1}, {"count": "many"}),
        ({"count": 3}, {}, {"count": 3}),
        ({"tags": '["a","b"]'}, {"tags": ["a", "b"]}, {"tags": ["a", "b"]}),
        ({"tags": '["å"]'}, {"tags": ["å"]}, {"tags": ["å"]}),
        ({"tags": "[" * 100_000}, {}, {"tags": "[" * 100_000}),
        ({"name": "2"}, {"name": "1"}, {"name": "2"}),
        ({"either": "2"}, {}, {"either": "2"}),
        ({"odd": "2", "none": "3"}, {"none": 3}, {"odd": "2", "none": 3}),
    ],
)
def test_texts_are_values_again(sent: dict[str, Any], shown: dict[str, Any], read: dict[str, Any]) -> None:
    """As they were shown, or else as their schema has them; what fits nothing stays a text, and is refused later."""
    assert read_arguments(sent, shown, SCHEMA) == read


def test_without_a_schema_they_are_as_they_came() -> None:
    """But for those that were shown so."""
    assert read_arguments({"a": "1", "b": "1"}, {"a": 1}, None) == {"a": 1, "b": "1"}
