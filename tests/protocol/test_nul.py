"""U+0000 becomes U+FFFD in whatever JSON a client sends, and nothing else changes."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import BODY_MAX
from agent.protocol.codec import decode
from agent.protocol.completions import decode_ask, decode_chat
from agent.protocol.http import ChatMessage, ThreadsQuery
from agent.protocol.inbound import ConfirmAction, Message
from agent.protocol.nul import json_without_nul
from agent.protocol.problems import ProblemError, decode_query
from agent.protocol.problems import decode as decode_body

TEXTS = st.lists(st.sampled_from(["\\", "\0", "u0000", '"', "a", "Ā", "ÿ", "\ufffd", "🙂"])).map("".join)
VALUES: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.integers(), lambda some: st.lists(some) | st.dictionaries(TEXTS, some)
)


def replaced(value: Any) -> Any:
    """Return a value in which it is done by hand."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [replaced(each) for each in value]
    if isinstance(value, dict):
        return {replaced(key): replaced(each) for key, each in value.items()}
    return value


@given(VALUES, st.booleans())
def test_each_text_of_a_value_has_it_replaced(value: Any, ascii: bool) -> None:
    """Of keys and values, however deep; an escaped backslash before u0000 is none, and the text stays as long."""
    text = json.dumps(value, ensure_ascii=ascii)
    assert json.loads(json_without_nul(text)) == replaced(value)
    assert json.loads(json_without_nul(text.encode())) == replaced(value)
    assert len(json_without_nul(text)) == len(text)


@given(st.text() | st.lists(st.sampled_from(["\\", "\\u0000", "\0", '"', "\ud800"])).map("".join))
def test_what_is_no_json_is_none_afterwards(text: str) -> None:
    """A raw U+0000 stays one, which no JSON has; and bytes that are no UTF-8 stay what they are."""
    once = json_without_nul(text)
    assert (len(once), json_without_nul(once)) == (len(text), once)
    assert once.count("\0") == text.count("\0")
    broken = b"\xff" + text.encode("utf-8", "surrogatepass")
    assert json_without_nul(broken)[:1] == b"\xff"


def test_every_reader_of_a_client_has_it_replaced() -> None:
    """A frame, a body of each kind, and a query; a text that is only U+0000 is not empty."""
    frame = decode(r'{"type":"message","id":"m\u0000","text":"\u0000"}')
    assert isinstance(frame, Message)
    assert (frame.id, frame.text) == ("m\ufffd", "\ufffd")
    confirm = decode(r'{"type":"confirm_action","suggestionId":"s","payload":{"a\u0000":"\u0000b"}}')
    assert isinstance(confirm, ConfirmAction)
    assert confirm.payload == {"a\ufffd": "\ufffdb"}
    assert decode_ask(rb'{"text":"a\u0000b"}').text == "a\ufffdb"
    chat = rb'{"messages":[{"role":"user","content":"a\u0000b"}]}'
    assert decode_chat(chat).text == "a\ufffdb"
    assert decode_body(ChatMessage, rb'{"user_id":"a\u0000","message":"b"}').user_id == "a\ufffd"
    assert decode_query(ThreadsQuery, b"user_id=%00a%2500").user_id == "\ufffda%00"
    with pytest.raises(ProblemError):  # two keys that are one
        decode_body(ChatMessage, rb'{"user_id":"a","message":"b","tools":[{"\u0000":1,"\ufffd":2}]}')


def test_the_worst_message_takes_little() -> None:
    """However many there are, beside however many backslashes."""
    for part in (rb"\u0000", rb"\\\u0000", rb"\\"):
        body = b'{"a":"%s\\u0000"}' % (part * (BODY_MAX // len(part)))
        began = time.thread_time()
        assert b"\\ufffd" in json_without_nul(body)
        assert time.thread_time() - began < 0.25
