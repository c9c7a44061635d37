"""Describes the routes of the server as an OpenAPI 3.1 document, built from them and the types in them; pure.

Strategy: msgspec gives a JSON Schema for each Struct; around them stands an operation for each route, with the codes of
its problems. A default as msgspec writes it may be no JSON value (a tuple), so the whole document goes through JSON
once. Everything is sorted, so the same types give the same bytes. Generators of clients read the document too, so a
pair of numbers is an array of two: `items: false`, as msgspec writes it, is a schema that some of them cannot read.
They take a field with a default for one that is always there, so a field that may be missing has none.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from ..config import IDEMPOTENCY_KEY, MAX_ID
from . import http as h
from .completion_answers import AskAnswer, ErrorAnswer
from .mcp import RpcAnswer
from .outbound_frame import Citation
from .paths import DESCRIBED
from .problems import FAULTS, KIND, Problem, make_problem
from .route import Route, Shape
from .routes import API_VERSION

_SCHEMAS = "#/components/schemas/"
_ANY = (
    "bad_request",
    "unauthorized",
    "forbidden",
    "misdirected",
    "rate_limited",
    "internal",
    "storage",
    "full",
)
_HEAD = ("too_slow", "head_too_large", "unknown_version")
_BODY = ("bad_json", "too_large", "unsupported_media_type")
_POST = ("in_progress", "key_reused")
_WRITE = ("shutting_down",)
_LIST = ("bad_cursor",)
_ERRORS: Mapping[Shape, tuple[str, type[msgspec.Struct]]] = {
    "openai": ("Error", ErrorAnswer),
    "rpc": ("RpcError", RpcAnswer),
}
"""The prefix of the names, and the type, of the errors in other forms than that of a problem."""
_BRIEF = (AskAnswer, Citation)  # are sent without the fields that have their defaults
_STATUSES = (400, 401, 403, 404, 413, 415, 421, 429, 431, 500, 503, 504)
_TOKEN: list[dict[str, list[str]]] = [{"bearer": []}]
_KEYS: list[dict[str, list[str]]] = [{"key": []}, {"bearer": []}]
_STREAMS = {
    "chat_completions": "the answer as objects of the type `chat.completion.chunk`, then `[DONE]`",
    "responses": "the events of OpenAI's Responses API, from `response.created` to `response.completed`",
}
_EVENTS = (
    "The frames of the WebSocket as they come, each as an event of its own type; then `result` with the answer as "
    "JSON, or `problem` with the failure. A comment says now and then that the server is still there. Closing the "
    "connection cancels."
)

_LIVE = (
    "Events without an end: `calls` with calls that are new or have changed, `gone` with the ids of calls that are "
    "listed no more, `listed` with their number once all were sent. A change is told within a second, whichever "
    "process made it. `problem` is the last event: the key was revoked, the project was deleted, or the server goes "
    "down. A comment says now and then that the server is still there."
)


@cache
def document() -> bytes:
    """Return the document as indented UTF-8 JSON with sorted keys and a final line break; made once in a process."""
    plain = _with_plain_arrays(msgspec.json.decode(msgspec.json.encode(_document())))
    return (json.dumps(plain, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _with_plain_arrays(value: Any) -> Any:
    """Return a JSON value in which each array schema of a fixed length states the one schema of its items."""
    if isinstance(value, list):
        return [_with_plain_arrays(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _with_plain_arrays(each) for key, each in value.items()}
    if plain.get("items") is False:
        first, *rest = plain.pop("prefixItems")
        assert all(each == first for each in rest), "a tuple of several types needs a schema of its own"
        plain["items"] = first
    return plain


def problem_statuses(route: Route) -> dict[int, list[str]]:
    """Return the codes of the problems that a `route` can answer with, by their status."""
    codes: dict[int, list[str]] = {}
    for code in _problem_codes(route):
        codes.setdefault(FAULTS[code].status, []).append(code)
    return codes


def _problem_codes(route: Route) -> Iterator[str]:
    if route.access == "open":
        yield from ("bad_request", "forbidden", "misdirected", "full", "internal", *_HEAD)
        return
    yield from _ANY
    yield from _HEAD
    yield "not_found"
    yield from route.problems
    if route.body is not None:
        yield from _BODY
    if route.method == "POST":
        yield from _POST
    if route.method != "GET":
        yield from _WRITE
    if route.turn:
        yield "starting"
    if issubclass(route.query, h.PageQuery):
        yield from _LIST


def _document() -> dict[str, Any]:
    structs: list[type[msgspec.Struct]] = [*_collect_structs(), Problem, ErrorAnswer]
    references, schemas = msgspec.json.schema_components(structs, ref_template=_SCHEMAS + "{name}")
    names: dict[type[msgspec.Struct], Any] = dict(zip(structs, references, strict=True))
    schemas = {name: schema for name, schema in schemas.items() if name != h.Upload.__name__}
    schemas[h.Upload.__name__] = _upload_schema()
    bodies = [names[route.body] for route in DESCRIBED if route.body is not None]
    _drop_defaults(schemas, [*bodies, *(_SCHEMAS + struct.__name__ for struct in _BRIEF)])
    paths: dict[str, dict[str, Any]] = {}
    for route in DESCRIBED:
        paths.setdefault(route.template, {})[route.method.lower()] = _describe_operation(route, names)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "agent",
            "version": API_VERSION,
            "description": "Questions, threads, decisions, approvals and tools over HTTP. A connection carries one "
            "request after the other; a request that is sent too early closes it after the earlier answer. Failures "
            f"come as {KIND}, under /v1 and /ask as OpenAI's errors, under /mcp as JSON-RPC's, with a code, and repeat "
            "no value that was sent. Another project's data does not exist.",
        },
        "servers": [{"url": "http://127.0.0.1:8787", "description": "The default address of `agent serve`."}],
        "security": _KEYS,
        "paths": paths,
        "x-problems": {code: msgspec.to_builtins(make_problem(code)) for code in FAULTS},
        "components": {
            "schemas": schemas,
            "responses": {**_problem_responses(), **_error_responses()},
            "securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-AGENT-KEY"},
                "bearer": {"type": "http", "scheme": "bearer"},
                "user": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A user's own token, or a signed one: it opens what is that user's.",
                },
            },
        },
    }


def _drop_defaults(schemas: Mapping[str, Any], starts: Iterable[Any]) -> None:
    """Remove the defaults from the schemas that are referred to in `starts`, and from those to which these refer."""
    waiting, seen = list(starts), set[str]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, str) and part.startswith(_SCHEMAS) and part not in seen:
            seen.add(part)
            schema = schemas[part.removeprefix(_SCHEMAS)]
            for field in schema.get("properties", {}).values():
                field.pop("default", None)
            waiting.append(schema)
        elif isinstance(part, Mapping):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _collect_structs() -> list[type[msgspec.Struct]]:
    structs: dict[type[msgspec.Struct], None] = {}
    for route in DESCRIBED:
        for struct in (route.body, route.other, *route.answers.values()):
            if struct is not None:
                structs[struct] = None
    return list(structs)


def _describe_operation(route: Route, names: Mapping[type[msgspec.Struct], Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "x-who": route.access,
        "parameters": _path_parameters(route),
    }
    if route.body is not None:
        kind = "multipart/form-data" if route.uploads else "application/json"
        operation["requestBody"] = {
            "required": not route.body_optional,
            "content": {kind: {"schema": names[route.body]}},
        }
    if route.shape == "problem":
        operation["x-problem-codes"] = sorted(set(_problem_codes(route)))
        operation["parameters"] += [*_query_parameters(route), *_header_parameters(route)]
        operation["responses"] = {**_good_responses(route, names), **_problem_references(route)}
    else:
        operation["security"] = _TOKEN
        operation["responses"] = (
            _page_responses(route) if route.shape == "plain" else _question_responses(route, names)
        )
    if route.access == "owner":
        operation["security"] = [*_KEYS, {"user": []}]
    if route.access == "open":
        operation["security"] = []
    return operation


def _question_responses(route: Route, names: Mapping[type[msgspec.Struct], Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, struct in route.answers.items():
        responses[str(status)] = {"description": HTTPStatus(status).phrase}
        if struct is not None:
            responses[str(status)]["content"] = {"application/json": {"schema": names[struct]}}
    if route.events:
        description = f"With `stream`: {_STREAMS[route.name]}. Closing the connection cancels."
        stream = {"schema": {"type": "string", "description": description}}
        responses["200"]["content"]["text/event-stream"] = stream
    prefix, _ = _ERRORS[route.shape]
    for status in _STATUSES:
        if status != 404 or route.names:
            responses[str(status)] = {"$ref": f"#/components/responses/{prefix}{status}"}
    return responses


def _page_responses(route: Route) -> dict[str, Any]:
    schema = {"type": "string"} if route.kind.startswith("text/") else {}
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {route.kind if status == HTTPStatus.OK else "text/plain": {"schema": schema}},
        }
        for status in route.answers
    }


def _error_responses() -> dict[str, Any]:
    """Return a response for each status of an error in the forms of `_ERRORS`."""
    return {
        f"{prefix}{status}": {
            "description": HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{struct.__name__}"}}},
        }
        for prefix, struct in _ERRORS.values()
        for status in _STATUSES
    }


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    name_schema = {"type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": "^[A-Za-z0-9._~-]+$"}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"} if f"{{{name}:path}}" in route.path else name_schema,
        }
        for name in route.names
    ]


def _query_parameters(route: Route) -> list[dict[str, Any]]:
    (_,), schemas = msgspec.json.schema_components([route.query], ref_template=_SCHEMAS + "{name}")
    schema = schemas[route.query.__name__]
    needed = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": field}
        for name, field in schema["properties"].items()
    ]


def _header_parameters(route: Route) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    if route.method == "POST":
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "The same request again under the same key gets the same answer, and does nothing.",
                "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY},
            }
        )
    if route.name == "approve_call":
        parameters.append(
            {
                "name": "Prefer",
                "in": "header",
                "description": "respond-async: do not wait for the end of the call that the server then runs.",
                "schema": {"type": "string"},
            }
        )
    return parameters


def _good_responses(route: Route, names: Mapping[type[msgspec.Struct], Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, struct in route.answers.items():
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if struct is not None:
            schema = names[struct]
            if route.other is not None:
                schema = {"anyOf": [schema, names[route.other]]}
            answer["content"] = {"application/json": {"schema": schema}}
        elif status == HTTPStatus.OK:
            kind = route.kind.partition(";")[0]
            schema = {"type": "object" if kind == "application/json" else "string"}
            answer["content"] = {kind: {"schema": schema}}
        if route.events:
            description = _LIVE if route.live else _EVENTS
            answer["content"]["text/event-stream"] = {
                "schema": {"type": "string", "description": description}
            }
        if route.method == "POST":
            again = {"description": "true where the request was answered before", "schema": {"const": "true"}}
            answer["headers"] = {"Idempotent-Replayed": again}
        responses[str(status)] = answer
    return responses


def _problem_references(route: Route) -> dict[str, Any]:
    return {
        str(status): {"$ref": f"#/components/responses/Problem{status}"}
        for status in problem_statuses(route)
        if status not in route.answers
    }


def _problem_responses() -> dict[str, Any]:
    """Return a response for each status of a problem."""
    responses: dict[str, Any] = {}
    for status in sorted({fault.status for fault in FAULTS.values()}):
        codes = sorted(code for code, fault in FAULTS.items() if fault.status == status)
        answer: dict[str, Any] = {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes)}",
            "content": {KIND: {"schema": {"$ref": f"{_SCHEMAS}{Problem.__name__}"}}},
        }
        if any(FAULTS[code].retry_after for code in codes):
            seconds = {"description": "Seconds until it may be tried again", "schema": {"type": "string"}}
            answer["headers"] = {"Retry-After": seconds}
        responses[f"Problem{status}"] = answer
    return responses


def _upload_schema() -> dict[str, Any]:
    """Return the schema of an upload: msgspec would take the file for base64."""
    (_,), schemas = msgspec.json.schema_components([h.Upload], ref_template=_SCHEMAS + "{name}")
    schema: dict[str, Any] = schemas[h.Upload.__name__]
    schema["properties"]["file"] = {"type": "string", "contentMediaType": "application/octet-stream"}
    return schema
