"""The AsyncAPI document describes every message type, holds together, and is the same every time."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from agent.protocol.asyncapi import CLOSE_CODES, ERROR_CODES, document
from agent.protocol.kinds import KINDS, list_frames
from agent.protocol.outbound import Error


@pytest.fixture(scope="module")
def api() -> dict[str, Any]:
    """The document, parsed."""
    parsed: dict[str, Any] = json.loads(document())
    return parsed


def references(node: Any) -> Iterator[str]:
    """Yield every $ref below `node`."""
    if isinstance(node, dict):
        if "$ref" in node:
            assert list(node) == ["$ref"]
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolve(api: dict[str, Any], reference: str) -> Any:
    """Return what a local JSON pointer points at."""
    node: Any = api
    assert reference.startswith("#/")
    for part in reference[2:].split("/"):
        node = node[part]
    return node


def test_document_is_asyncapi_3(api: dict[str, Any]) -> None:
    """The required keys of the specification's objects are there."""
    assert api["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= set(api["info"])
    assert all({"host", "protocol"} <= set(server) for server in api["servers"].values())
    for operation in api["operations"].values():
        assert operation["action"] in ("send", "receive")
        assert resolve(api, operation["channel"]["$ref"]) in api["channels"].values()


def test_every_reference_resolves(api: dict[str, Any]) -> None:
    """No $ref points into nothing, and there are some."""
    found = list(references(api))
    assert len(found) > 20
    for reference in found:
        assert isinstance(resolve(api, reference), dict)


@pytest.mark.parametrize(
    ("operation", "union", "has_audio"),
    [
        row
        for kind in KINDS
        for row in zip(
            kind.operations,
            (kind.inbound, kind.outbound),
            (kind.takes_audio, kind.sends_audio),
            strict=True,
        )
    ],
)
def test_every_struct_is_a_message_of_its_direction(
    api: dict[str, Any], operation: str, union: Any, has_audio: bool
) -> None:
    """Each message type stands in its operation, with its tag, its docstring and its fields; audio has none of it."""
    listed = {}
    for reference in references(api["operations"][operation]["messages"]):
        message = resolve(api, resolve(api, reference)["$ref"])
        listed[message["name"]] = message
    audio = listed.pop("audio", None)
    assert (audio is not None) == has_audio
    assert set(listed) == {struct.__struct_config__.tag for struct in list_frames(union)}
    for struct in list_frames(union):
        message = listed[struct.__struct_config__.tag]
        assert message["summary"] == struct.__doc__
        schema = resolve(api, message["payload"]["$ref"])
        assert schema["properties"]["type"] == {"enum": [struct.__struct_config__.tag]}
        assert set(schema["properties"]) == {"type", *struct.__struct_encode_fields__}


def test_channels_offer_every_message(api: dict[str, Any]) -> None:
    """The channels' messages are those of the components."""
    offered = {each["$ref"] for channel in api["channels"].values() for each in channel["messages"].values()}
    assert offered == {f"#/components/messages/{name}" for name in api["components"]["messages"]}


def test_codes_are_described(api: dict[str, Any]) -> None:
    """Every error code of the type, and every close code, has its meaning."""
    channel = api["channels"]["session"]
    assert set(channel["x-error-codes"]) == set(get_args(Error.__annotations__["code"])) == set(ERROR_CODES)
    assert set(channel["x-close-codes"]) == {str(code) for code in CLOSE_CODES}
    assert {1000, 1001, 1007, 1008, 1009, 1011, 1012, 1013, 4401, 4408} == set(CLOSE_CODES)


def test_schemas_are_draft_7(api: dict[str, Any]) -> None:
    """AsyncAPI 3.0 does not know `prefixItems`."""
    lines = api["components"]["schemas"]["Citation"]["properties"]["lines"]["anyOf"][0]
    assert lines["items"] == [{"type": "integer"}, {"type": "integer"}]
    assert lines["additionalItems"] is False
    assert b"prefixItems" not in document()


def test_document_is_stable_byte_for_byte() -> None:
    """Another process with another hash seed writes the same bytes."""
    code = "import sys; from agent.protocol.asyncapi import document; sys.stdout.buffer.write(document())"
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert other.stdout == document()
    assert document().endswith(b"}\n")
