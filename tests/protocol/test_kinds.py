"""A kind of connection is a value: what decodes its frames, describes it and finds it is made from it."""

import json
from itertools import combinations
from typing import Any

import pytest

from agent.errors import BadFrame
from agent.protocol.asyncapi import document
from agent.protocol.codec import decode
from agent.protocol.inbound import Cancel, Inbound, Message
from agent.protocol.kinds import CONVERSATION, KIND_OF_PATH, KINDS, list_frames
from agent.protocol.outbound import Outbound

from ..kinds import TALE, Directive
from .test_asyncapi import references, resolve

DIRECTIVE = '{"type":"message","id":"1","choice":2}'
QUESTION = '{"type":"message","id":"1","text":"What does a card cost?"}'


def fault_of(frame: str, kind: Any) -> tuple[str, str]:
    """Return the code and the sentence of the fault of a frame."""
    with pytest.raises(BadFrame) as caught:
        decode(frame, kind)
    return caught.value.code, caught.value.message


def test_a_frame_is_read_by_the_kind_of_its_connection() -> None:
    """Two kinds may have one type with other fields, and each reads its own."""
    assert decode(DIRECTIVE, TALE) == Directive("1", 2)
    assert decode(QUESTION, CONVERSATION) == decode(QUESTION) == Message("1", "What does a card cost?")
    assert decode('{"type":"cancel"}', TALE) == Cancel()


@pytest.mark.parametrize("tag", sorted(CONVERSATION.checks.keys() - TALE.checks.keys()))
def test_a_frame_of_another_kind_is_a_bad_message(tag: str) -> None:
    """It is answered as a type that does not exist, with the types that do."""
    words = "Use a type that exists: message, cancel or open_tale."
    assert fault_of(json.dumps({"type": tag, "suggestionId": "s", "query": "q"}), TALE) == (
        "bad_message",
        words,
    )


def test_the_sentence_about_types_names_those_of_the_kind() -> None:
    """Whether the type is missing, no string or unknown."""
    assert fault_of("{}", TALE)[1] == "Add the field type: message, cancel or open_tale."
    assert fault_of('{"type":1}', TALE)[1] == "Make the field type a string: message, cancel or open_tale."
    assert fault_of('{"type":"x"}', CONVERSATION)[1].endswith("thread_rename, thread_delete or feedback.")


@pytest.mark.parametrize("kind", [*KINDS, TALE], ids=lambda each: each.name)
def test_each_frame_of_a_kind_has_its_checks(kind: Any) -> None:
    """In the order in which sentences name the types."""
    tags = [each.__struct_config__.tag for each in list_frames(kind.inbound)]
    assert list(kind.checks) == tags


def test_a_path_belongs_to_one_kind() -> None:
    """No two kinds share a path and a subprotocol, a channel or an operation."""
    assert set(KIND_OF_PATH) == {path for kind in KINDS for path in kind.paths}
    for one, other in combinations([*KINDS, TALE], 2):
        assert one.subprotocol != other.subprotocol or set(one.paths).isdisjoint(other.paths)
        assert one.name != other.name
        assert set(one.operations).isdisjoint(other.operations)


def test_each_kind_has_a_channel_of_its_own() -> None:
    """With the frames of that kind alone, in both directions; what kinds share is described once."""
    api = json.loads(document((*KINDS, TALE)))
    assert {name: each["address"] for name, each in api["channels"].items()} == {
        "session": "/ws",
        "story": "/story",
        "voice": "/ws",
        "stt": "/ws/stt",
        "tts": "/ws/tts",
        "tale": "/tale",
    }
    assert set(api["channels"]["tale"]["messages"]) == {
        *(
            "message",
            "cancel",
            "stream",
            "stream_end",
            "response",
            "error",
            "tale_stored",
            "open_tale",
            "tale",
        )
    }
    directive = resolve(api, api["channels"]["tale"]["messages"]["message"]["$ref"])
    assert directive["name"] == "message"
    assert set(resolve(api, directive["payload"]["$ref"])["properties"]) == {"type", "id", "choice"}
    cancels = {each["messages"]["cancel"]["$ref"] for name, each in api["channels"].items() if name != "stt"}
    assert cancels == {"#/components/messages/cancel"}
    for reference in references(api):
        resolve(api, reference)
    for operation, action in zip(TALE.operations, ("receive", "send"), strict=True):
        assert api["operations"][operation]["action"] == action
        assert api["operations"][operation]["channel"] == {"$ref": "#/channels/tale"}


def test_a_second_kind_changes_nothing_of_the_first() -> None:
    """The channel and operations of conversations are the same beside another kind."""
    alone, beside = json.loads(document()), json.loads(document((*KINDS, TALE)))
    assert beside["channels"]["session"] == alone["channels"]["session"]
    for operation in CONVERSATION.operations:
        assert beside["operations"][operation] == alone["operations"][operation]
    for part in ("messages", "schemas"):
        assert beside["components"][part].items() >= alone["components"][part].items()
    assert (CONVERSATION.inbound, CONVERSATION.outbound) == (Inbound, Outbound)
