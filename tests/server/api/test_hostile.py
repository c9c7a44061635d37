"""Bad input to the HTTP API: a typed problem that repeats nothing of it, never a fault, and nobody else is hurt."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.config import BODY_MAX, HEAD_MAX, HTTP_TIMEOUT, MAX_NESTING
from agent.errors import BadEdit, BadTool, Conflict, StorageFailed
from agent.ports.thread_service import ChatRequest, Listener
from agent.protocol.http import ChatMessage, ToolResult
from agent.protocol.problems import FAULTS, ProblemError, decode, make_problem
from agent.server.api.calls import RESULT_BYTES
from agent.server.body import BODY_CHUNKS, BODY_TIMEOUT
from agent.server.serve import serve_stream
from agent.testing.faults import pipe
from tests.examples import sample

from . import asker, code_in, held_to_the_document, request
from .stores import House

SECRET = "s3cret-words"
GOOD = b'{"user_id":"anna","message":"Hello"}'
DEEP = b'{"tool_call_id":"c","ok":true,"data":' + b"[" * 40 + b"]" * 40 + b"}"


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    sample(
        [
            (b"", "bad_json", None),
            (b"null", "bad_request", ""),
            (b"[]", "bad_request", ""),
            (b'{"user_id":"anna","message":NaN}', "bad_json", None),
            (b'{"user_id":"anna","message":"Hello"}}', "bad_json", None),
            (b'{"user_id":"anna","message":"\\ud800"}', "bad_json", None),
            (b'{"user_id":"anna","message":"\xff"}', "bad_json", None),
            (b"\xef\xbb\xbf" + GOOD, "bad_json", None),
            (b"[" * 100_000, "bad_json", None),
            (
                b'{"user_id":"anna","message":"Hello","tools":[{"x":' + b"[" * 40 + b"]" * 40 + b"}]}",
                "bad_json",
                None,
            ),
            (b'{"user_id":"anna","message":"Hello","tools":[{"x":1e999}]}', "bad_request", "/tools/0"),
            (
                b'{"user_id":"anna","message":"Hello","tools":[{"x":' + b"9" * 5000 + b"}]}",
                "bad_request",
                "/tools/0",
            ),
            (b'{"user_id":"anna","message":"Hello","tools":[7]}', "bad_request", "/tools/0"),
            (
                json.dumps({"user_id": "a", "message": "b", "tools": [{}] * 65}).encode(),
                "bad_request",
                "/tools",
            ),
            (b'{"user_id":"anna","message":["s3cret-words"]}', "bad_request", "/message"),
            (b'{"user_id":"anna","message":"Hello","lang":"s3cret-words"}', "bad_request", "/lang"),
            (b'{"user_id":"anna","message":"Hello","x":"\xff"}', "bad_json", None),
            (b'{"user_id":"anna","message":"Hello","x":"\\ud800"}', "bad_json", None),
            (b'{"user_id":"anna","message":"Hello","x":1,"x":2}', "bad_request", None),
            (b'{"user_id":"anna","message":"Hello","x":' + b"[" * 40 + b"]" * 40 + b"}", "bad_json", None),
            (b'{"user_id":null,"message":"Hello"}', "bad_request", "/user_id"),
            (b'{"user_id":"anna","message":""}', "bad_request", "/message"),
            (b'{"user_id":"anna"}', "bad_request", "/message"),
            (b'{"user_id":"","message":"Hello"}', "bad_request", "/user_id"),
            (json.dumps({"user_id": "anna", "message": "x" * 8001}).encode(), "bad_request", "/message"),
        ],
        3,
    ),
)
async def test_a_body_that_does_not_fit_is_told_where(body: bytes, code: str, pointer: str | None) -> None:
    """By a pointer into it where there is a place; nothing was done, and nothing of it is repeated."""
    ask = asker()
    status, _, value = await ask.ask("POST", "/chat", body)
    assert (status, code_in(value)) == (400, code)
    assert [each["pointer"] for each in value["errors"]] == ([] if pointer is None else [pointer])
    assert SECRET not in json.dumps(value)
    assert ask.house.done == []


async def test_a_decision_with_an_unknown_or_empty_field_decides_nothing() -> None:
    """A misspelt or empty field of an approval is refused: without it, something else would be approved."""
    ask = asker()
    ask.house.add_call("c")
    for more, pointer in (
        ({SECRET: 1}, ""),
        ({"arguements": {"order": "1"}}, ""),
        ({"outcome": ""}, "/outcome"),
        ({"outcome": None}, "/outcome"),
        ({"arguments_hash": ""}, "/arguments_hash"),
    ):
        status, _, value = await ask.ask("POST", "/calls/c/approve", {"user_id": "bo", **more})
        assert (status, [each["pointer"] for each in value["errors"]]) == (400, [pointer])
        assert SECRET not in json.dumps(value)
    assert ask.house.calls["c"].status == "suggested"


def test_an_empty_optional_field_counts_as_absent() -> None:
    """As null and as "", and an unknown field too; a result stays what it is, and so does a text that is not empty."""
    fields = {"thread_id", "project_id", "lang", "tools", "interrupt", "begin"}
    plain = decode(ChatMessage, GOOD)
    for blank in ("", None):
        body = {**json.loads(GOOD), **dict.fromkeys(fields, blank), "unknown": {"x": [blank]}}
        assert decode(ChatMessage, json.dumps(body, indent=1).encode()) == plain
    said = {"tool_call_id": "c", "ok": True}
    kept = decode(ToolResult, json.dumps({**said, "data": "", "error": "", "continue": None}).encode())
    assert (kept.data, kept.error, kept.go_on) == ("", None, False)
    assert decode(ToolResult, json.dumps({**said, "error": " "}).encode()).error == " "


@pytest.mark.parametrize(
    "body",
    [
        b'{"user_id":"anna","outcome":"ignore","outcome":"accept"}',
        b'{"user_id":"anna","outcome":"edit","arguments":{"order":"A-1","ord\\u0065r":"B-2"}}',
        b'{"user_id":"anna","user_id":"anna"}',
    ],
)
async def test_a_field_that_is_given_twice_approves_nothing(body: bytes) -> None:
    """Who looked it through on its way here may have read the other one; of a query or a form it is refused too."""
    ask = asker()
    ask.house.add_call("c")
    status, _, value = await ask.ask("POST", "/calls/c/approve", body)
    assert (status, code_in(value)) == (400, "bad_request")
    assert value["detail"] == "Send each field of an object once."
    assert ask.house.calls["c"].status == "suggested"


def test_a_good_body_is_read_twice_in_a_moment() -> None:
    """However much of it there is: once for what it says, once for what it says twice."""
    for many in (b'"a",' * 60_000, b'"' + b"a" * 8 + b'",' * 20_000, b"1.5," * 60_000, b'{"a":1},' * 30_000):
        body = b'{"tool_call_id":"c","ok":true,"data":[%s]}' % many[: BODY_MAX - 100].rpartition(b",")[0]
        began = time.thread_time()
        with suppress(ProblemError):
            decode(ToolResult, body)
        assert time.thread_time() - began < 0.25


def test_nesting_is_counted_outside_strings_only() -> None:
    """As deep as may be, and no deeper; brackets in strings are words."""
    brackets = json.dumps("[{" * 500 + '\\"[')
    fine = b'{"tool_call_id":"c","ok":true,"error":%s,"data":%s}' % (
        brackets.encode(),
        b"[" * (MAX_NESTING - 1) + b"]" * (MAX_NESTING - 1),
    )
    assert decode(ToolResult, fine).error == json.loads(brackets)
    with pytest.raises(ProblemError, match="bad_json"):
        decode(ToolResult, DEEP)
    with pytest.raises(ProblemError) as told:
        decode(ChatMessage, b'{"user_id":"anna","message":7}')
    assert told.value.__context__ is None  # which would quote the body


@pytest.mark.parametrize(
    "body",
    [
        b'["' + b'\\"' * (BODY_MAX // 2 - 40) + b"[" * 40,
        b'["' + b"\\" * (BODY_MAX - 40) + b"[" * 33,
        b"[" * (BODY_MAX // 2) + b"]" * (BODY_MAX // 2),
        b"[]" * (BODY_MAX // 2),
        b"[" + b"[]," * (BODY_MAX // 3 - 1) + b"[]]",
        b"[{" * (BODY_MAX // 2),
    ],
)
def test_no_body_within_its_bounds_takes_long(body: bytes) -> None:
    """Whatever it is made of, it is read in a step that others do not feel."""
    began = time.thread_time()
    with pytest.raises(ProblemError):
        decode(ToolResult, body)
    assert time.thread_time() - began < 0.25


@pytest.mark.parametrize(
    ("target", "code"),
    sample(
        [
            ("/calls?limit=0", "bad_request"),
            ("/calls?limit=201", "bad_request"),
            ("/calls?limit=s3cret-words", "bad_request"),
            ("/calls?status=s3cret-words", "bad_request"),
            ("/calls?s3cret-words=1", "bad_request"),
            ("/calls?limit=1&limit=1", "bad_request"),
            ("/calls?user_id=%ff", "bad_request"),
            ("/calls?%", "bad_request"),
            ("/calls?" + "&".join(f"a{n}=1" for n in range(100)), "bad_request"),
            ("/calls?cursor=s3cret-words", "bad_cursor"),
            ("/calls?cursor=", "bad_request"),
            ("/calls?cursor=Y2FsbHMgOTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "bad_cursor"),
            ("/calls?cursor=Y2FsbHMgLTE", "bad_cursor"),
            ("/calls?cursor=Y2FsbHMgwrI", "bad_cursor"),
            ("/calls/", "not_found"),
            ("/calls/a/b", "not_found"),
            ("/calls/" + "a" * 129, "not_found"),
            ("/calls/%2e%2e", "not_found"),
            ("/calls/..%2fprojects", "not_found"),
            ("/projects/../calls", "not_found"),
            ("/chat/", "not_found"),
            ("/tools/nothing", "not_found"),
            ("/tools?project_id=nowhere", "not_found"),
            ("/threads//messages", "not_found"),
        ],
        3,
    ),
)
async def test_a_target_that_does_not_fit_is_told_so(target: str, code: str) -> None:
    """Parameters that a route does not have are refused, so that a misspelt one does not go unseen."""
    status, _, value = await asker().ask("GET", target)
    assert code_in(value) == code
    assert status == FAULTS[code].status
    assert SECRET not in json.dumps(value)


@pytest.mark.parametrize("target", ["/chats", "/CHAT", "/projectsx", "//chat", "/%63hat", "/call"])
async def test_other_paths_are_not_the_apis(target: str) -> None:
    """They are the page's, which has its own words, and take no other methods."""
    ask = asker()
    status, headers, _ = await ask.raw(request("GET", target))
    assert (status, headers["content-type"]) == (404, "text/plain; charset=utf-8")
    for method in ("PUT", "DELETE"):
        status, headers, _ = await ask.raw(request(method, target))
        assert (status, headers["allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (request("POST", "/chat", GOOD, "Content-Type: text/plain"), "unsupported_media_type"),
        (request("POST", "/chat", GOOD, "Content-Encoding: gzip"), "unsupported_media_type"),
        (request("POST", "/chat"), "unsupported_media_type"),
        (request("POST", "/calls/c/begin", b"{", "Content-Type: text/plain"), "unsupported_media_type"),
        (request("POST", "/chat", None, "Content-Type: application/json"), "bad_json"),
        (request("POST", "/chat", GOOD + b" " * BODY_MAX), "too_large"),
        (
            request("POST", "/chat", None, "Content-Type: application/json", "Transfer-Encoding: chunked")
            + b"1\r\n \r\n" * (BODY_CHUNKS + 1),
            "too_large",
        ),
        (
            request("POST", "/chat", None, "Content-Type: application/json", "Transfer-Encoding: chunked")
            + b"x\r\n",
            "bad_request",
        ),
        (
            request("POST", "/chat", GOOD, "Transfer-Encoding: chunked"),
            "bad_request",
        ),
    ],
)
async def test_a_body_that_cannot_be_read_is_told_why(data: bytes, code: str) -> None:
    """Of a wrong type, too large, in too many chunks, or framed wrongly."""
    ask = asker()
    status, headers, body = await ask.raw(data)
    path = "/chat" if b" /chat " in data else "/calls/c/begin"
    assert held_to_the_document("POST", path, status, headers, body)["code"] == code
    assert ask.house.done == []


HEAD = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (HEAD + b"Content-Length: -1\r\n\r\n", 400, "bad_request"),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "bad_request"),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 400, "bad_request"),
        (HEAD + b"X: a\0b\r\n\r\n", 400, "bad_request"),
        (HEAD + b"X : b\r\n\r\n", 400, "bad_request"),
        (HEAD + b"Host: localhost\r\n\r\n", 400, "bad_request"),
        (HEAD + b"X: " + b"b" * HEAD_MAX + b"\r\n\r\n", 431, "head_too_large"),
        (b"GET /calls?" + b"a" * 2 * HEAD_MAX, 431, "head_too_large"),
        (b"GET /calls HTTP/1.2\r\nHost: localhost\r\n\r\n", 505, "unknown_version"),
        (b"GET /calls?x=\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "bad_request"),
        (b"GET /calls", 408, "too_slow"),
        (b"BREW /calls HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method_not_allowed"),
        (b"get /calls HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method_not_allowed"),
    ],
)
async def test_a_head_that_cannot_be_read_is_a_problem_too(
    data: bytes, status: int, code: str, autojump_clock: trio.testing.MockClock
) -> None:
    """As far as its path could be read, its clients are told what is wrong as they are of anything else."""
    ask = asker()
    got, headers, body = await ask.raw(data)
    method, path = ("POST", "/chat") if data.startswith(HEAD) else (data.split()[0].decode(), "/calls")
    assert (got, held_to_the_document(method, path, got, headers, body)["code"]) == (status, code)
    assert headers.get("allow") == ("GET, HEAD" if status == 405 else None)
    assert ask.house.done == []


async def test_a_slow_body_and_one_that_is_cut_are_let_go_of(autojump_clock: trio.testing.MockClock) -> None:
    """With a word, though a client that has left does not read it."""
    ask = asker()
    part = request("POST", "/chat", GOOD)[:-5]
    status, headers, body = await ask.raw(part)
    assert held_to_the_document("POST", "/chat", status, headers, body)["code"] == "too_slow"
    assert trio.current_time() == pytest.approx(BODY_TIMEOUT, abs=3)
    status, headers, body = await ask.raw(part, end=True)
    assert held_to_the_document("POST", "/chat", status, headers, body)["code"] == "bad_request"
    assert ask.house.done == []


async def test_a_good_body_may_come_in_any_way() -> None:
    """With its head, byte by byte, in chunks, or when it is asked for; what follows it is none of it."""
    ask = asker()
    whole = request("POST", "/chat", GOOD)
    for data in (whole, whole + whole, whole + b"}"):
        assert (await ask.raw(data))[0] == 200
    assert (await ask.raw(*(whole[n : n + 1] for n in range(len(whole)))))[0] == 200
    chunked = request("POST", "/chat", None, "Content-Type: application/json", "Transfer-Encoding: chunked")
    assert (await ask.raw(chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)))[0] == 200
    status, _, rest = await ask.raw(request("POST", "/chat", GOOD, "Expect: 100-continue"))
    assert (status, rest.startswith(b"HTTP/1.1 200 OK")) == (100, True)
    assert ask.house.done == [ask.house.done[0]] * 6


async def test_a_report_is_bounded() -> None:
    """In bytes and in depth."""
    ask = asker()
    ask.house.add_call("c", status="claimed")
    report: dict[str, Any] = {"tool_call_id": "c", "ok": True}
    assert await ask.code("POST", "/tools/result", report | {"data": "x" * RESULT_BYTES}) == "too_large"
    deep: Any = 1
    for _ in range(20):
        deep = [deep]
    assert await ask.code("POST", "/tools/result", report | {"data": deep}) == "bad_request"
    assert await ask.code("POST", "/tools/result", report | {"error": "x" * 2001}) == "bad_request"
    edit = {"user_id": "bo", "outcome": "edit", "arguments": {"a": "x" * 20_000}}
    assert await ask.code("POST", "/calls/c/approve", edit) == "bad_edit"
    assert ask.house.calls["c"].status == "claimed"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Conflict("turn_in_progress"), 409, "turn_in_progress"),
        (Conflict("thread_full"), 409, "thread_full"),
        (Conflict("too_many_threads"), 503, "too_many_threads"),
        (Conflict("busy"), 409, "busy"),
        (Conflict("rate_limited"), 429, "rate_limited"),
        (Conflict("shutting_down"), 503, "shutting_down"),
        (Conflict("internal"), 500, "internal"),
        (BadTool("what it takes is no schema", "/0/parameters"), 400, "bad_tool"),
        (StorageFailed("/secret/path"), 503, "storage"),
    ],
)
async def test_what_goes_wrong_has_a_code(error: Exception, status: int, code: str) -> None:
    """And when it can be tried again, it says when."""

    async def fail(_: ChatRequest, listener: Listener | None) -> None:
        raise error

    ask = asker(House(play=fail))
    got, headers, value = await ask.ask("POST", "/chat", GOOD)
    assert (got, code_in(value)) == (status, code)
    if code == "bad_tool":
        assert value["errors"] == [{"pointer": "/tools/0/parameters", "detail": "what it takes is no schema"}]
    assert ("retry-after" in headers) == bool(FAULTS[code].retry_after)
    assert "/secret" not in json.dumps(value)
    assert f'agent_rejections_total{{status="{status}"}} 1.0' in ask.metrics.text().decode()


async def test_a_fault_is_told_by_its_id_alone() -> None:
    """Its type and place stand in the log, its words nowhere; the next request is served."""

    async def fail(_: ChatRequest, listener: Listener | None) -> None:
        async with trio.open_nursery():
            raise ValueError(SECRET)

    ask = asker(House(play=fail))
    with capture_logs() as log:
        status, _, value = await ask.ask("POST", "/chat", GOOD)
    assert (status, code_in(value)) == (500, "internal")
    (line,) = log
    assert (line["event"], line["error"]) == ("request broke", "ValueError")
    assert line["fault"] in value["detail"]
    assert SECRET not in repr((log, value))
    ask.house.play = None
    assert (await ask.ask("POST", "/chat", GOOD))[0] == 200
    ask.house.broken = ValueError(SECRET)  # when keys are looked up, too
    with capture_logs():
        assert await ask.code("GET", "/calls", key=f"ak_{'x' * 43}") == "internal"


async def test_an_edit_that_a_tool_does_not_take_says_where() -> None:
    """The call still waits."""
    ask = asker()
    ask.house.add_call("c")
    ask.house.broken = BadEdit("Make /order a string.")
    status, _, value = await ask.ask(
        "POST", "/calls/c/approve", {"user_id": "u", "outcome": "edit", "arguments": {}}
    )
    assert (status, code_in(value)) == (400, "bad_edit")
    assert value["errors"] == [{"pointer": "/arguments", "detail": "Make /order a string."}]


async def test_a_store_that_hangs_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    """What is no turn has its time."""
    ask = asker(House(hangs=True))
    assert await ask.code("GET", "/calls") == "storage"
    assert trio.current_time() == pytest.approx(HTTP_TIMEOUT, abs=3)
    assert await ask.code("GET", "/calls", key=f"ak_{'x' * 43}") == "storage"
    assert trio.current_time() == pytest.approx(2 * HTTP_TIMEOUT, abs=6)


async def test_who_goes_down_takes_nothing_new() -> None:
    """What is there can still be read; a turn waits for what it is answered from."""
    down = asker(draining=True)
    for method, target, body in (
        ("POST", "/chat", GOOD),
        ("PUT", "/projects/default", {"name": "x"}),
        ("DELETE", "/threads/t", None),
        ("POST", "/calls/c/begin", None),
    ):
        assert await down.code(method, target, body) == "shutting_down"
    assert (await down.ask("GET", "/calls"))[0] == 200
    starting = asker(unready="The documents are being read.")
    status, _, value = await starting.ask("POST", "/chat", GOOD)
    assert (status, code_in(value), value["detail"]) == (503, "starting", "The documents are being read.")
    assert (await starting.ask("PUT", "/projects/default", {"name": "x"}))[0] == 200


async def test_a_full_house_and_one_that_gives_its_place_away_say_so(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As problems; a body that is late makes way for a newcomer."""
    ask = asker(max_connections=1)
    ours, theirs = pipe(1 << 30)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stream, ask.edge, theirs)
        ours.feed(request("POST", "/chat", GOOD)[:-1])
        await trio.sleep(1)
        end, newcomer = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, newcomer)
        end.feed(request("GET", "/calls"))
        assert b'"code":"full"' in await ours.receive_some(1 << 16)
        assert (await end.receive_some(1 << 16)).startswith(b"HTTP/1.1 200 ")
        end.close()
        ours.close()
        await trio.testing.wait_all_tasks_blocked()

        async def slow(_: ChatRequest, listener: Listener | None) -> None:
            await trio.sleep(5)

        ask.house.play = slow
        ours, theirs = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, theirs)
        ours.feed(request("POST", "/chat", GOOD))
        await trio.sleep(1)
        end, newcomer = pipe(1 << 30)
        nursery.start_soon(serve_stream, ask.edge, newcomer)
        end.feed(request("GET", "/calls"))
        assert b'"code":"full"' in await end.receive_some(1 << 16)
        end.close()
        assert b"HTTP/1.1 200 " in await ours.receive_some(1 << 16)
        ours.close()


def test_every_code_has_words_that_say_what_to_do() -> None:
    """A whole sentence each; a code without words is a conflict, not a fault."""
    for code in FAULTS:
        told = make_problem(code)
        assert told.detail.endswith(".")
        assert told.type.endswith(code)
    assert make_problem("something_new").code == "conflict"
