"""What a model wrote, and which decision it is, if it is one."""

import json
from time import thread_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import DRAFT_MAX, PAYLOAD_BYTES, PAYLOAD_NESTING
from agent.errors import BadDecision
from agent.llm.decision import decode_decision
from agent.llm.settings import DECISION_MAX
from agent.ports.decide import Act, Ask, Noop


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(BadDecision) as bad:
        decode_decision(text)
    assert bad.value.__cause__ is None
    return bad.value.problems


def told(text: str) -> object:
    try:
        return decode_decision(text)
    except BadDecision as bad:
        return bad.problems


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ('{"mode": "ACT", "tool": "t", "args": {}}', Act("t", {})),
        (
            ' {"args": {"a": [1, 2.5, null, true, "å"]}, "message": "m", "mode": "ACT", "tool": "t", "risk": "high", '
            '"requires_approval": true}\n',
            Act("t", {"a": [1, 2.5, None, True, "å"]}, "m", "high", True),
        ),
        ('{"mode": "ASK", "message": "Which?"}', Ask("Which?")),
        ('{"mode": "NOOP"}', Noop("")),
        ('{"mode": "NOOP", "message": "}{ \\" [[[[[[[[[[[[[[[[[[[[[["}', Noop('}{ " [[[[[[[[[[[[[[[[[[[[[[')),
        ('```json\n{"mode": "NOOP"}\n```', Noop("")),
        ('\n~~~~\n{"mode": "NOOP", "message": "```"}~~~~ ', Noop("```")),
    ],
)  # fmt: skip
def test_a_decision_is_read(text: str, decision: object) -> None:
    """In any order of its fields, one fence around it taken off."""
    assert decode_decision(text) == decision


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("I will cancel it.", "not JSON"),
        ('{"mode": "NOOP"', "not JSON"),
        ("{'mode': 'NOOP'}", "not JSON"),
        ('{"mode": "NOOP"} and more', "nothing beside it"),
        ('{"mode": "NOOP"}{"mode": "NOOP"}', "nothing beside it"),
        ('Sure:\n```json\n{"mode": "NOOP"}\n```', "not JSON"),
        ('```json\n{"mode": "NOOP"}\n```\nDone.', "not JSON"),
        ('```python\n{"mode": "NOOP"}\n```', "not JSON"),
        ("```json\n```", "not JSON"),
        ("``````", "not JSON"),
        ("[]", "a JSON object"),
        ("3", "a JSON object"),
        ("{}", "/mode: found null"),
        ('{"mode": "act", "tool": "t", "args": {}}', "/mode"),
        ('{"mode": ["ACT"]}', "/mode"),
        ('{"mode": "NOOP", "tool": "t"}', "/tool: no field"),
        ('{"mode": "NOOP", "mode": "ACT"}', '"mode" stands twice'),
        ('{"mode": "ACT", "tool": "t", "args": {"a": {"b": 1, "b": 2}}}', '"b" stands twice'),
        ('{"mode": "ACT", "tool": "t", "args": {"a": NaN}}', "out of range"),
        ('{"mode": "ACT", "tool": "t", "args": {"a": -Infinity}}', "out of range"),
        ('{"mode": "ACT", "tool": "t", "args": {"a": 1e999}}', "out of range"),
        ('{"mode": "ACT", "tool": "t", "args": {"a": ' + "9" * 5000 + "}}", "out of range"),
        ('{"mode": "ACT", "tool": "t", "args": {"a": "\\ud800"}}', "/args"),
        ('{"mode": "ACT", "tool": "t", "args": {"\\ud800": 1}}', "/args"),
        ('{"mode": "ASK", "message": "\\udfff"}', "half of a UTF-16 pair"),
        ('{"mode": "ASK", "\\ud800": 1}', "no field of this name"),
        ('{"mode": "\\ud800"}', "/mode"),
        ('{"mode": "ASK", "message": " "}', "/message: not empty"),
        ('{"mode": "ASK"}', "/message: this field is required"),
        ('{"mode": "ACT", "tool": "", "args": {}}', "/tool: not empty"),
        ('{"mode": "ACT", "tool": "t", "args": []}', "/args: found []"),
        ('{"mode": "ACT", "tool": "t", "args": {}, "risk": "none"}', "/risk"),
        ('{"mode": "ACT", "tool": "t", "args": {}, "requires_approval": "no"}', "/requires_approval"),
        ('{"mode": "NOOP", "message": null}', "/message"),
    ],
)
def test_what_is_no_decision_is_told(text: str, says: str) -> None:
    """By the place that is wrong, where there is one."""
    found = problems(text)
    assert says in "\n".join(found)
    assert all("\n" not in each and each.encode() for each in found)


def test_everything_is_told_at_once() -> None:
    """One second try can mend it."""
    found = problems('{"mode": "ACT", "args": 3, "risk": "none", "a": 1, "b": 2}')
    assert [each.partition(":")[0] for each in found] == ["/a", "/b", "/tool", "/args", "/risk"]


def test_size_and_nesting_are_bounded_before_anything_is_read() -> None:
    """As far as the bounds, and no further."""
    fitting = {"mode": "ACT", "tool": "t", "args": {"a": nested(PAYLOAD_NESTING - 1)}}
    assert isinstance(decode_decision(json.dumps(fitting)), Act)
    deeper = {**fitting, "args": {"a": nested(PAYLOAD_NESTING)}}
    assert "nested" in problems(json.dumps(deeper))[0]
    assert "nested" in problems('{"mode": ' + "[" * 50_000)[0]
    assert "nested" in problems('{"a": ' * 5_000)[0]
    large = {"mode": "ACT", "tool": "t", "args": {"a": "x" * (PAYLOAD_BYTES - 8)}}
    assert isinstance(decode_decision(json.dumps(large)), Act)
    large["args"] = {"a": "x" * PAYLOAD_BYTES}
    assert "/args" in problems(json.dumps(large))[0]
    assert isinstance(decode_decision(json.dumps({"mode": "NOOP", "message": "x" * DRAFT_MAX})), Noop)
    assert "/message" in problems(json.dumps({"mode": "NOOP", "message": "x" * (DRAFT_MAX + 1)}))[0]
    assert "characters" in problems(" " * DECISION_MAX + '{"mode": "NOOP"}')[0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_json_is_a_decision_or_none(value: Any) -> None:
    """Nothing else is raised, whatever it is, as a whole and as a field."""
    for text in (
        json.dumps(value),
        json.dumps({"mode": "ACT", "tool": "t", "args": value, "message": value}),
    ):
        assert told(text)


@given(st.text(alphabet='{}[]"\\:,`~ \nmodeACT1e', max_size=60))
def test_any_text_is_a_decision_or_none(text: str) -> None:
    """Nothing else is raised."""
    assert told(text)


def test_a_name_that_stands_twice_is_found_in_one_pass() -> None:
    """However many stand between, and whichever comes last."""
    names = [f"a{number:04d}" for number in range(6500)]
    text = "{" + ",".join(f'"{name}":0' for name in [*names, names[-1]]) + "}"
    assert len(text) <= DECISION_MAX
    began = thread_time()
    assert problems(text) == ('the name "a6499" stands twice in one object',)
    assert thread_time() - began < 0.1
