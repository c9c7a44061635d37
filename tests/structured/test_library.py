"""`agent.structured` as programs use it: its names, what may be given, and a call without an event loop."""

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from agent.errors import UsageError
from agent.structured import Doc, Extractor, extract_values
from agent.structured.check import check_document
from agent.structured.schema import BadSchema, make_tool_shape
from agent.testing.replies import ScriptedLanguageModel, calls, says

NOTE = {
    "title": "A note",
    "description": "Notes.",
    "type": "object",
    "properties": {"text": {"type": "string"}},
}


@dataclass
class Order:
    number: str


def find_order(number: str, unit: Literal["days", "hours"] = "days") -> None:
    """Find an order.

    Args:
        number: The number of the order.
    """


class Pydantic:
    """Has the methods of a pydantic model, one field, and a validator of its own."""

    def __init__(self, number: str) -> None:
        self.number = number

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return its JSON Schema."""
        return {
            "description": "Orders.",
            "type": "object",
            "properties": {"number": {"type": "string"}},
            "required": ["number"],
        }

    @classmethod
    def model_validate(cls, document: Any) -> "Pydantic":
        """Return a value, or raise as a validator does."""
        if document["number"] == "A-0":
            raise FieldFault
        return cls(document["number"])

    def model_dump(self, mode: str) -> dict[str, Any]:
        """Return the value as JSON has it."""
        return {"number": self.number}


class FieldFault(ValueError):
    """Lists its errors as pydantic's does."""

    def errors(self, include_url: bool) -> list[dict[str, Any]]:
        """Return the errors, one for each field."""
        return [{"loc": ("number",), "input": "A-0", "msg": "there is no such order"}]


def test_a_function_becomes_a_schema_and_keyword_arguments() -> None:
    """Described by its docstring; a parameter without a type is said."""
    shape = make_tool_shape(find_order)
    assert (shape.name, shape.tool.description) == ("find_order", "Find an order.")
    assert shape.tool.schema["properties"]["number"]["description"] == "The number of the order."
    assert check_document(shape, {"number": "A-17"}) == ({"number": "A-17"}, ())
    (problem,) = check_document(shape, {"number": "A-17", "unit": "years"})[1]
    assert problem.pointer == "/unit"
    with pytest.raises(BadSchema, match="has no type"):
        make_tool_shape(lambda number: None)


def test_a_pydantic_model_is_known_by_its_methods() -> None:
    """Its schema is checked first; then its own validators are, whose errors have their places."""
    shape = make_tool_shape(Pydantic)
    value, problems = check_document(shape, {"number": "A-17"})
    assert (type(value), value.number, problems) == (Pydantic, "A-17", ())
    (problem,) = check_document(shape, {"number": "A-0"})[1]
    assert str(problem) == '/number: found "A-0"; there is no such order'
    (problem,) = check_document(shape, {})[1]
    assert problem.pointer == "/number"


@pytest.mark.proof
def test_pydantic_s_own_models_are_such() -> None:
    """With nested models and constraints."""
    pydantic: Any = pytest.importorskip("pydantic")
    line: Any = pydantic.create_model("Line", count=(int, pydantic.Field(gt=0)))
    order = pydantic.create_model("Order", number=(str, ...), lines=(list.__class_getitem__(line), ...))
    shape = make_tool_shape(order)
    document = {"number": "A-17", "lines": [{"count": 1}]}
    assert check_document(shape, document) == (order(number="A-17", lines=[line(count=1)]), ())
    (problem,) = check_document(shape, {"number": "A-17", "lines": [{"count": 0}]})[1]
    assert problem.pointer == "/lines/0/count"
    even = pydantic.field_validator("number")(
        lambda cls, value: [][0] if value == "" else pydantic_even(value)
    )
    strict = pydantic.create_model("Strict", __validators__={"even": even}, number=(str, ...))
    (problem,) = check_document(make_tool_shape(strict), {"number": "odd"})[1]
    assert (problem.pointer, "even" in problem.expected) == ("/number", True)


def pydantic_even(value: str) -> str:
    """Return a text of even length, or raise as a validator does."""
    if len(value) % 2:
        raise ValueError("give a text of even length")
    return value


def test_a_schema_with_a_title_is_a_tool() -> None:
    """Its title is the name, with marks in place of what a name may not hold."""
    shape = make_tool_shape(NOTE)
    assert (shape.name, shape.tool.description) == ("A_note", "Notes.")
    assert check_document(shape, {"text": "x"}) == ({"text": "x"}, ())


async def test_messages_may_stand_in_a_mapping() -> None:
    """As other libraries take them; a mapping without any is said, and no model is asked."""
    model = ScriptedLanguageModel(calls(("Order", '{"number": "A-17"}')))
    extractor = Extractor(model, [Order])
    outcome = await extractor.extract({"messages": [{"role": "user", "content": "Order A-17."}]})
    assert outcome.values == (Order("A-17"),)
    assert model.requests[0].messages[-1].text == "Order A-17."
    for wrong in ({}, {"messages": None}, {"messages": [1]}, {"messages": [{"role": "x"}]}):
        outcome = await extractor.extract(wrong)
        assert (outcome.status, len(outcome.errors), model.opened) == ("invalid", 1, 1)


async def test_existing_documents_are_plain_values() -> None:
    """Of the tool that their id names, of their type, or of the only tool; else the outcome is invalid."""
    edit = '{"doc": "%s", "operations": [{"op": "replace", "path": "/number", "value": "B-2"}]}'
    cases: tuple[tuple[dict[str, Any], list[Any], Order], ...] = (
        ({"o": {"number": "A-17"}}, [Order], Order("B-2")),
        ({"o": Order("A-17")}, [NOTE, Order], Order("B-2")),
        ({"Order": {"number": "A-17"}}, [NOTE, Order], Order("B-2")),
        ({"o": Doc("Order", {"number": "A-17"})}, [NOTE, Order], Order("B-2")),
    )
    for docs, tools, value in cases:
        (id,) = docs
        model = ScriptedLanguageModel(calls(("edit", edit % id)))
        outcome = await Extractor(model, tools).update("It is B-2.", docs)
        assert dict(outcome.documents) == {id: value}
    model = ScriptedLanguageModel(calls(("edit", edit % "o")))
    outcome = await Extractor(model, [Pydantic]).update("It is B-2.", {"o": Pydantic("A-17")})
    assert outcome.documents["o"].number == "B-2"


@pytest.mark.parametrize(
    ("docs", "why"),
    [
        ([{"number": "A-17"}], "a mapping of their ids"),
        (None, "a mapping of their ids"),
        ({1: {"number": "A-17"}}, "a mapping of their ids"),
        ({"o": {"number": "A-17"}}, "give it as a Doc"),
        ({"o": Doc("Other", {})}, "is no tool"),
        ({"Order": object()}, "is not JSON"),
        ({"Order": {"number": "\ud800"}}, "is not JSON"),
    ],
)
async def test_documents_that_cannot_be_changed_make_the_outcome_invalid(docs: Any, why: str) -> None:
    """With the reason, and no model is asked."""
    model = ScriptedLanguageModel(says("x"))
    outcome = await Extractor(model, [NOTE, Order]).update("It is B-2.", docs)
    assert (outcome.status, model.opened) == ("invalid", 0)
    assert why in outcome.errors[0]


SCRIPTED = """
from agent.ports.model import Finish, TextDelta

class Scripted:
    async def stream(self, request):
        yield TextDelta("{'number': 'A-17',}")
        yield Finish("stop")
"""


def test_values_are_extracted_without_an_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also from a thread of asyncio; the model has the words of `--model`."""
    (tmp_path / "scripted_orders.py").write_text(SCRIPTED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    outcome = extract_values("Order A-17.", [Order], model="scripted_orders:Scripted")
    assert outcome.values == (Order("A-17"),)

    async def in_asyncio() -> Any:
        return await asyncio.to_thread(extract_values, "x", [Order], model="scripted_orders:Scripted")

    assert asyncio.run(in_asyncio()).values == outcome.values
    with pytest.raises(UsageError, match="model must be"):
        extract_values("x", [Order], model="nothing")


def test_the_package_imports_its_names_when_they_are_used() -> None:
    """A server that checks no schema imports no checker; any other name is an error."""
    code = (
        "import sys, agent.structured.pointer\n"
        "assert not {'jsonschema_rs', 'trio', 'pydantic'} & set(sys.modules)\n"
        "from agent.structured import Extraction, Extractor, NotExtracted, open_model\n"
        "assert 'pydantic' not in sys.modules\n"
        "import agent.structured as room\n"
        "assert not hasattr(room, 'nothing')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
