"""The wire's decoder says for each kind of bad frame what to do, and never repeats what the client sent."""

import json
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.config import MAX_ID, MAX_NESTING, MAX_TEXT
from agent.errors import BadFrame
from agent.ports.brain import Blocked
from agent.protocol import inbound, outbound, outbound_frame
from agent.protocol.codec import decode, encode
from tests.examples import examples

SENTINEL = "Zq7sentinel"


def fill(template: str, *values: str) -> str:
    """Return `template` with each %s replaced, in order."""
    return template % values


GOOD = [
    ('{"type":"message","id":"1","text":"hi"}', inbound.Message("1", "hi")),
    ('{"text":"hej","lang":"sv","id":"1","type":"message"}', inbound.Message("1", "hej", "sv")),
    ('{"type":"message","id":"1","text":"hi","lang":null}', inbound.Message("1", "hi")),
    ('{"type":"message","id":"1","text":"hi","progress":true}', inbound.Message("1", "hi", progress=True)),
    ('{"type":"message","id":"1","text":"hi","progress":false}', inbound.Message("1", "hi")),
    (' {"type":"cancel"}\n', inbound.Cancel()),
    ('{"type":"cancel","id":"1"}', inbound.Cancel("1")),
    ('{"type":"cancel","id":null}', inbound.Cancel()),
    ('{"type":"c\\u0061ncel"}', inbound.Cancel()),
    ('{"type":"confirm_action","suggestionId":"s"}', inbound.ConfirmAction("s")),
    ('{"type":"confirm_action","suggestionId":"s","payload":null}', inbound.ConfirmAction("s")),
    (
        '{"type":"confirm_action","suggestionId":"s","payload":{"phone":"070"}}',
        inbound.ConfirmAction("s", {"phone": "070"}),
    ),
    ('{"type":"confirm_action","suggestionId":"s","payload":{"a":5}}', inbound.ConfirmAction("s", {"a": 5})),
    ('{"type":"reject_action","suggestionId":"s"}', inbound.RejectAction("s")),
    ('{"type":"reject_action","suggestionId":"s","payload":5}', inbound.RejectAction("s")),
    ('{"type":"open_thread"}', inbound.OpenThread()),
    ('{"type":"open_thread","thread":"t","id":"q"}', inbound.OpenThread("t", "q")),
    ('{"type":"recall","query":"price?"}', inbound.Recall("price?", 10)),
    (
        '{"type":"recall","query":"pris?","limit":50,"lang":"sv","id":"q"}',
        inbound.Recall("pris?", 50, "sv", "q"),
    ),
    ('{"type":"memory_list","status":null}', inbound.MemoryList()),
    (
        '{"type":"memory_list","status":"proposed","after":20,"id":"q"}',
        inbound.MemoryList("proposed", 20, id="q"),
    ),
    ('{"type":"memory_list","item":"i1"}', inbound.MemoryList(item="i1")),
    (
        '{"type":"memory_decide","item":"i1","decision":"accept","revision":3,"replaces":["i2"],"id":"q"}',
        inbound.MemoryDecide("i1", "accept", 3, ["i2"], "q"),
    ),
    ('{"type":"memory_decide","item":"i1","decision":"done"}', inbound.MemoryDecide("i1", "done")),
    (
        '{"type":"memory_edit","item":"i1","text":"It is 60.","revision":1}',
        inbound.MemoryEdit("i1", "It is 60.", 1),
    ),
    ('{"type":"memory_forget","item":"i1","id":"q"}', inbound.MemoryForget("i1", "q")),
    ('{"type":"feedback","message":"m","verdict":"up"}', inbound.RateAnswer("m", "up")),
    (
        '{"type":"feedback","message":"m","verdict":"down","text":"Old","id":"q"}',
        inbound.RateAnswer("m", "down", "Old", "q"),
    ),
]


@pytest.mark.parametrize(("frame", "expected"), GOOD)
def test_each_message_of_the_wire_is_read(frame: str, expected: inbound.Inbound) -> None:
    """A frame as in the first table of the wire becomes its Struct."""
    assert expected == decode(frame)


@pytest.mark.parametrize(
    "extra",
    [
        "9" * 60_000,
        "-1" + "0" * 60_000,
        "1e999999999",
        "0." + "3" * 60_000 + "e-9999",
        '{"a":[1,{"b":null}]}',
        '"' + "[{" * 1000 + '"',
        '"\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["',
        "[" + ",".join(["[]"] * 500) + "]",
    ],
    ids=[
        "digits",
        "negative",
        "exponent",
        "decimals",
        "object",
        "brackets in text",
        "escaped quote",
        "siblings",
    ],
)
def test_unknown_fields_are_ignored_whatever_they_hold(extra: str) -> None:
    """An unknown field, however big its number, changes nothing and costs next to nothing."""
    start = time.perf_counter()
    assert inbound.Cancel("a") == decode(fill('{"type":"cancel","x":%s,"id":"a","y":%s}', extra, extra))
    assert time.perf_counter() - start < 0.5


BAD = [
    ("", "bad_json", "could not be read as JSON", None),
    (SENTINEL, "bad_json", "could not be read as JSON", None),
    ('{"type":"message","id":"7","text":"a"', "bad_json", "could not be read as JSON", None),
    ('{"type":"cancel"} x', "bad_json", "could not be read as JSON", None),
    ('\ufeff{"type":"cancel"}', "bad_json", "could not be read as JSON", None),
    ('{"type":"cancel","id":01}', "bad_json", "could not be read as JSON", None),
    ('{"type":5,"id":"7"', "bad_json", "could not be read as JSON", None),
    ('{"type":"cancel","a":"NaN",}', "bad_json", "could not be read as JSON", None),
    ("NaN", "bad_json", "NaN and Infinity", None),
    ('{"type":"cancel","x":NaN}', "bad_json", "NaN and Infinity", None),
    ('{"type":"cancel","x":[-Infinity]}', "bad_json", "NaN and Infinity", None),
    ('{"type":"cancel","id":Infinity}', "bad_json", "NaN and Infinity", None),
    (b'{"type":"cancel"}', "bad_message", "text frames only", None),
    ("[]", "bad_message", "JSON object", None),
    ("null", "bad_message", "JSON object", None),
    ("1e999999", "bad_message", "JSON object", None),
    ("9" * 60_000, "bad_message", "JSON object", None),
    ('"message"', "bad_message", "JSON object", None),
    ("{}", "bad_message", "Add the field type", None),
    ('{"id":"7"}', "bad_message", "Add the field type", "7"),
    ('{"type":3,"id":"7"}', "bad_message", "field type a string", "7"),
    ('{"type":null}', "bad_message", "field type a string", None),
    (fill('{"type":"%s","id":"7"}', SENTINEL), "bad_message", "type that exists", "7"),
    ('{"type":"cancel","type":"message","id":"7","text":"a"}', "bad_message", "type once", "7"),
    ('{"type":"message","type":"cancel"}', "bad_message", "type once", None),
    ('{"type":"cancel","type":"reject_action","suggestionId":"s"}', "bad_message", "type once", None),
    ('{"type":"message","text":"a"}', "bad_message", "Add the field id", None),
    ('{"type":"message","id":7,"text":"a"}', "bad_message", "id of the message a", None),
    ('{"type":"message","id":null,"text":"a"}', "bad_message", "id of the message a", None),
    (
        '{"type":"message","id":%s,"text":"a"}' % ("7" * 60_000),
        "bad_message",
        "id of the message a",
        None,
    ),
    ('{"type":"message","id":"","text":"a"}', "bad_message", "id of the message empty", None),
    (
        '{"type":"message","id":"%s","text":"a"}' % ("7" * (MAX_ID + 1)),
        "bad_message",
        "id of the message to at",
        None,
    ),
    ('{"type":"message","id":"7"}', "bad_message", "Add the field text", "7"),
    (
        fill('{"type":"message","id":"7","text":["%s"]}', SENTINEL),
        "bad_message",
        "text of the message a",
        "7",
    ),
    ('{"type":"message","id":"7","text":""}', "bad_message", "text of the message empty", "7"),
    (
        '{"type":"message","id":"7","text":"%s"}' % ("x" * (MAX_TEXT + 1)),
        "bad_message",
        "8000 characters",
        "7",
    ),
    (
        fill('{"type":"message","id":"7","text":"a","lang":"%s"}', SENTINEL),
        "bad_message",
        "field lang",
        "7",
    ),
    ('{"type":"message","id":"7","text":"a","lang":5}', "bad_message", "field lang", "7"),
    (
        '{"type":"message","id":"7","text":"a","progress":1}',
        "bad_message",
        "progress of the message true",
        "7",
    ),
    ('{"type":"message","id":"7","text":"a","progress":null}', "bad_message", "true or false, or leave", "7"),
    (
        '{"type":"message","id":"7","text":"a","id":8}',
        "bad_message",
        "id of the message a",
        None,
    ),
    ('{"type":"cancel","id":7}', "bad_message", "id of the cancel", None),
    ('{"type":"confirm_action"}', "bad_message", "Add the field suggestionId", None),
    ('{"type":"confirm_action","suggestionId":{}}', "bad_message", "suggestionId a string", None),
    (
        '{"type":"confirm_action","suggestionId":"s","payload":[]}',
        "bad_message",
        "an object, or leave it out",
        None,
    ),
    (
        '{"type":"confirm_action","suggestionId":"s","payload":"070"}',
        "bad_message",
        "an object, or leave it out",
        None,
    ),
    (
        fill('{"type":"confirm_action","suggestionId":"s","payload":{"a":%s}}', "9" * 60_000),
        "bad_message",
        "an object, or leave it out",
        None,
    ),
    ('{"type":"reject_action","suggestionId":null,"id":"7"}', "bad_message", "suggestionId a string", "7"),
    (fill('{"type":"cancel","x":%s%s}', "[" * 60_000, "]" * 60_000), "bad_message", "at most 32 deep", None),
    ("[" * 60_000, "bad_message", "at most 32 deep", None),
    ('{"type":"cancel","id":"\\ud800"}', "bad_message", "surrogate", None),
    ('{"type":"cancel","x":"a\\udc00"}', "bad_message", "surrogate", None),
    ('{"type":"message","id":"7","text":"\\ude00\\ud83d"}', "bad_message", "surrogate", None),
    ('{"type":"cancel","id":"\ud800"}', "bad_message", "surrogate", None),
    ('{"type":"cancel","id":"\\\\ud800"', "bad_json", "could not be read as JSON", None),
]


def of(kind: str, **fields: object) -> str:
    """A frame of a kind with these fields, without those that are None."""
    return json.dumps({"type": kind} | {name: value for name, value in fields.items() if value is not None})


LONG = SENTINEL * 60
BAD_CONSULTS = [
    (of("open_thread", thread=5), "thread of the open_thread a string"),
    (of("open_thread", thread=""), "thread of the open_thread empty"),
    (of("open_thread", thread=LONG), "thread of the open_thread to at most 128"),
    (of("open_thread", id=""), "id of the open_thread empty"),
    (of("recall"), "Add the field query to the recall"),
    (of("recall", query=""), "query of the recall empty"),
    (of("recall", query=LONG), "query of the recall to at most 500"),
    (of("recall", query="a", limit=0), "from 1 to 50"),
    (of("recall", query="a", limit=51), "from 1 to 50"),
    (of("recall", query="a", limit="5"), "from 1 to 50"),
    (of("recall", query="a", limit=5.5), "from 1 to 50"),
    (of("recall", query="a", limit=True), "from 1 to 50"),
    ('{"type":"recall","query":"a","limit":null}', "from 1 to 50"),
    (fill('{"type":"recall","query":"a","limit":%s}', "9" * 60_000), "from 1 to 50"),
    (of("recall", query="a", lang="xx"), "lang of the recall"),
    (of("memory_list", status=SENTINEL), "superseded or forgotten"),
    (of("memory_list", status=5), "status of the memory_list one of proposed"),
    (of("memory_list", after=-1), "after of the memory_list"),
    (of("memory_list", after=1 << 53), "after of the memory_list"),
    (of("memory_list", after=SENTINEL), "after of the memory_list"),
    (of("memory_list", item=""), "item of the memory_list empty"),
    (of("memory_decide", decision="accept"), "Add the field item to the memory_decide"),
    (of("memory_decide", item="i1"), "field decision, one of accept, reject, start"),
    (of("memory_decide", item="i1", decision=SENTINEL), "block, unblock or reopen"),
    (of("memory_decide", item="i1", decision="finish"), "block, unblock or reopen"),
    (of("memory_decide", item="i1", decision="accept", revision=0), "revision of the memory_decide"),
    (of("memory_decide", item="i1", decision="accept", revision="1"), "revision of the memory_decide"),
    (of("memory_decide", item="i1", decision="accept", replaces="i2"), "array of at most 16 ids"),
    (of("memory_decide", item="i1", decision="accept", replaces=["i"] * 17), "array of at most 16 ids"),
    (of("memory_decide", item="i1", decision="accept", replaces=[""]), "array of at most 16 ids"),
    (of("memory_edit", item="i1"), "Add the field text to the memory_edit"),
    (of("memory_edit", item="i1", text=""), "text of the memory_edit empty"),
    (of("memory_edit", item="i1", text=LONG), "text of the memory_edit to at most 500"),
    (of("memory_edit", item="i1", text="a", revision=-5), "revision of the memory_edit"),
    (of("memory_edit", item="i1", text="a", lang="xx"), "lang of the memory_edit"),
    (of("memory_edit", text="a"), "Add the field item to the memory_edit"),
    (of("memory_forget"), "Add the field item to the memory_forget"),
    (of("memory_forget", item=[SENTINEL]), "item of the memory_forget a string"),
    (of("memory_forget", item=LONG), "item of the memory_forget to at most 128"),
    (of("feedback", verdict="up"), "Add the field message to the feedback"),
    (of("feedback", message=5, verdict="up"), "message of the feedback a string"),
    (of("feedback", message="m"), "the field verdict, up or down"),
    (of("feedback", message="m", verdict=SENTINEL), "the field verdict, up or down"),
    (of("feedback", message="m", verdict="up", text=5), "text of the feedback a string"),
    (of("feedback", message="m", verdict="up", text="x" * 1001), "text of the feedback to at most 1000"),
]


@pytest.mark.parametrize(("frame", "hint"), BAD_CONSULTS)
def test_each_bad_question_to_what_is_remembered_has_its_sentence(frame: str, hint: str) -> None:
    """It says which field, and what it takes; the label comes back where there is one."""
    with pytest.raises(BadFrame) as caught:
        decode(frame)
    assert caught.value.code == "bad_message"
    assert hint in caught.value.message
    assert SENTINEL not in caught.value.message
    assert caught.value.message.endswith(".")


@pytest.mark.parametrize(("frame", "code", "hint", "ref"), BAD)
def test_each_kind_of_bad_frame_has_its_sentence(
    frame: str | bytes, code: str, hint: str, ref: str | None
) -> None:
    """The error names the wire's code, one sentence that says what to do, and the id where there is one."""
    with pytest.raises(BadFrame) as caught:
        decode(frame)
    error = caught.value
    assert (code, ref) == (error.code, error.ref)
    assert hint in error.message
    assert SENTINEL not in error.message
    assert error.message.endswith(".")
    assert error.__context__ is None, "the library's exception quotes the frame and must not travel along"


def test_nesting_is_allowed_up_to_its_limit() -> None:
    """The object itself is the first level; the last allowed level is MAX_NESTING."""
    within = MAX_NESTING - 1
    frame = '{"type":"cancel","x":%s%s}'
    assert inbound.Cancel() == decode(fill(frame, "[" * within, "]" * within))
    with pytest.raises(BadFrame, match="at most 32 deep"):
        decode(fill(frame, "[" * (within + 1), "]" * (within + 1)))


def test_text_is_bounded_in_characters_not_bytes() -> None:
    """8000 characters of four bytes each are a message; one more is not."""
    text = "😀" * MAX_TEXT
    assert inbound.Message("1", text) == decode(json.dumps({"type": "message", "id": "1", "text": text}))
    with pytest.raises(BadFrame, match="8000 characters"):
        decode(json.dumps({"type": "message", "id": "1", "text": text + "x"}, ensure_ascii=False))


@pytest.mark.parametrize(
    "frame",
    [
        '"' + '\\"' * 32_000,
        "[" * 33 + '"\\"' * 20_000,
        '{"a":' * 8_000,
        '{"a":"' + "\\ud8" * 13_000,
        "NaN" * 20_000,
    ],
    ids=["escaped quotes", "quotes in brackets", "open objects", "broken escapes", "words"],
)
def test_adversarial_frames_are_refused_in_linear_time(frame: str) -> None:
    """64 KiB made to slow a reader down are refused within half a second."""
    start = time.perf_counter()
    with pytest.raises(BadFrame):
        decode(frame)
    assert time.perf_counter() - start < 0.5


def test_of_a_field_given_twice_the_last_one_counts() -> None:
    """Duplicate keys read as in most JSON readers."""
    assert inbound.Cancel("b") == decode('{"type":"cancel","id":"a","type":"cancel","id":"b"}')


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CONSULTS = (
    "open_thread",
    "recall",
    "memory_list",
    "memory_decide",
    "memory_edit",
    "memory_forget",
    "feedback",
)
ASKED = (
    "progress",
    "thread",
    "query",
    "limit",
    "status",
    "after",
    "item",
    "decision",
    "revision",
    "replaces",
    "message",
    "verdict",
)
names = st.sampled_from(["type", "id", "text", "lang", "suggestionId", "x", *ASKED])
kinds = st.sampled_from(["message", "cancel", "confirm_action", "reject_action", "nope", *CONSULTS])
fields = st.dictionaries(names, json_values, max_size=4)
frames = (
    st.text()
    | st.binary()
    | st.text(alphabet='{}[]",:\\u d8type message cancel id NaN1e-\ud800', max_size=60)
    | json_values.map(json.dumps)
    | st.builds(
        lambda kind, rest: json.dumps({"type": kind} | rest),
        kinds,
        st.dictionaries(names, json_values, max_size=4),
    )
)


@settings(max_examples=examples(150), deadline=None)
@given(frames)
def test_any_frame_gives_a_message_or_a_typed_error(frame: str | bytes) -> None:
    """No input raises anything but `BadFrame`, and what is read can be sent back as UTF-8."""
    try:
        message = decode(frame)
    except BadFrame as error:
        refused = error
    else:
        assert message == decode(msgspec.json.encode(message).decode())
        return
    assert refused.code in ("bad_json", "bad_message")
    assert refused.ref is None or refused.ref.encode()


OUT = [
    (outbound.Stream("a ", "1"), {"type": "stream", "delta": "a ", "id": "1"}),
    (outbound.StreamEnd("done"), {"type": "stream_end", "reason": "done"}),
    (
        outbound.Response(
            text="t",
            citations=(outbound_frame.Citation(file="kb/a.md", snippet="s", lines=(1, 2)),),
            id="1",
            confidence="high",
        ),
        {
            "type": "response",
            "text": "t",
            "citations": [{"file": "kb/a.md", "snippet": "s", "lines": [1, 2]}],
            "id": "1",
            "confidence": "high",
        },
    ),
    (
        outbound.Response(
            text="t",
            citations=(outbound_frame.Citation(file="kb/a.md", snippet="s", lines=(1, 1), heading="A › B"),),
            id="1",
            confidence="high",
        ),
        {
            "type": "response",
            "text": "t",
            "citations": [{"file": "kb/a.md", "snippet": "s", "lines": [1, 1], "heading": "A › B"}],
            "id": "1",
            "confidence": "high",
        },
    ),
    (
        outbound.Response(text="t", citations=(), blocked=Blocked("no_sources", "m")),
        {"type": "response", "text": "t", "citations": [], "blocked": {"code": "no_sources", "message": "m"}},
    ),
    (
        outbound.ActionSuggestion(
            suggestion_id="s", action="send_sms", payload={"to": "å"}, id="1", expires_at=5
        ),
        {
            "type": "action_suggestion",
            "suggestionId": "s",
            "action": "send_sms",
            "payload": {"to": "å"},
            "id": "1",
            "expiresAt": 5,
        },
    ),
    (
        outbound.ActionExecuted("s", {"ignored": True}),
        {"type": "action_executed", "suggestionId": "s", "result": {"ignored": True}},
    ),
    (
        outbound.ActionClosed("s", "expired"),
        {"type": "action_closed", "suggestionId": "s", "reason": "expired"},
    ),
    (outbound.Error("busy", "m"), {"type": "error", "code": "busy", "message": "m"}),
    (
        outbound.Welcome(
            "x",
            1,
            outbound.Limits(
                max_frame=1,
                max_text=2,
                queued_messages=3,
                live_suggestions=4,
                confirm_seconds=5.0,
                rate_limit=6.0,
            ),
        ),
        {
            "type": "welcome",
            "session": "x",
            "protocol": 1,
            "limits": {
                "maxFrame": 1,
                "maxText": 2,
                "queuedMessages": 3,
                "liveSuggestions": 4,
                "confirmSeconds": 5.0,
                "rateLimit": 6.0,
            },
        },
    ),
]


@pytest.mark.parametrize(("frame", "expected"), OUT, ids=[type(frame).__name__ for frame, _ in OUT])
def test_each_outbound_frame_is_the_wires_json(frame: outbound.Outbound, expected: dict[str, object]) -> None:
    """Names are camelCase, what is unset is left out."""
    assert expected == json.loads(encode(frame))
