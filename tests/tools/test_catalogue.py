"""A name means one tool, and a request's never an operator's."""

import pytest

from agent.errors import BadTool
from agent.ports.tools import ToolDefinition
from agent.tools.catalogue import Catalogue


def tools(*names: str) -> list[ToolDefinition]:
    return [ToolDefinition(name=name, description="", parameters={"type": "object"}) for name in names]


def test_operators_tools_come_first_by_name_then_the_requests() -> None:
    """So what a model is shown is the same from turn to turn."""
    catalogue = Catalogue(tools("b", "a"), tools("z", "c"))
    assert [tool.name for tool in catalogue] == ["a", "b", "z", "c"]
    assert [tool.name for tool in catalogue.tools] == ["a", "b", "z", "c"]
    assert len(catalogue) == 4


def test_a_tool_is_found_by_its_name() -> None:
    """Letter for letter."""
    catalogue = Catalogue(tools("a"), tools("c"))
    assert [found and found.name for found in map(catalogue.get, ("a", "c", "A", ""))] == [
        "a",
        "c",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("operator", "request_", "pointer"),
    [
        (("a",), ("b", "a"), "/1/name"),
        (("send_sms",), ("Send_SMS",), "/0/name"),
        ((), ("a", "a"), "/1/name"),
        (("a", "b", "a"), (), "/2/name"),
    ],
)
def test_a_name_is_taken_once(operator: tuple[str, ...], request_: tuple[str, ...], pointer: str) -> None:
    """A request cannot redefine an operator's tool, nor bring one that looks like it."""
    with pytest.raises(BadTool) as bad:
        Catalogue(tools(*operator), tools(*request_))
    assert bad.value.pointer == pointer


def test_a_request_cannot_take_an_operators_name() -> None:
    """It is told so, in words that are no other tool's."""
    with pytest.raises(BadTool, match="the operator has a tool of this name"):
        Catalogue(tools("a"), tools("a"))
