"""Describes failed requests as `application/problem+json` (RFC 9457); pure.

The table `FAULTS` gives each code its status, its title and its remedy. A detail never repeats a value that was sent;
where the place of the fault is known, `errors` has it as a JSON Pointer. `error` repeats the title, for older callers.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from ..config import BODY_MAX, HEAD_MAX, MAX_NESTING, RULES_BYTES, UPLOAD_MAX, UPLOADS_AT_ONCE
from ..errors import AgentError
from .approvals import DecisionView
from .nul import json_without_nul, query_without_nul

T = TypeVar("T")
KIND = "application/problem+json"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A kind of problem. `retry_after` is the wait in seconds before another try; 0 where it is not known."""

    status: int
    title: str
    detail: str
    retry_after: int = 0


FAULTS: Mapping[str, ProblemKind] = {
    "bad_request": ProblemKind(
        400, "Bad request", "Change what the errors name; the types are in /openapi.json."
    ),
    "bad_json": ProblemKind(
        400, "Not JSON", "Send one JSON object in UTF-8, without NaN, Infinity or half characters."
    ),
    "bad_cursor": ProblemKind(400, "Unknown cursor", "Send a next_cursor of this list as it came, or none."),
    "bad_tool": ProblemKind(400, "Unusable tool", "Change the tool's definition."),
    "bad_edit": ProblemKind(
        400, "Unusable arguments", "Send arguments that the tool takes; the call still waits."
    ),
    "bad_item": ProblemKind(400, "Unusable item", "Change what the errors name, and send it again."),
    "bad_upload": ProblemKind(
        400, "Unusable upload", "Send multipart/form-data with one file and its category."
    ),
    "unauthorized": ProblemKind(
        401, "Not authorised", "Send the key as X-AGENT-KEY, or as Authorization: Bearer."
    ),
    "forbidden": ProblemKind(
        403, "Not allowed", "Requests from that Origin are not allowed; see --allow-origin."
    ),
    "not_found": ProblemKind(404, "Not found", "There is nothing here by that name."),
    "method_not_allowed": ProblemKind(405, "Method not allowed", "Use a method that Allow names."),
    "too_slow": ProblemKind(408, "Too slow", "Send the whole request sooner."),
    "turn_in_progress": ProblemKind(
        409, "Turn in progress", "Wait for its end, cancel it, or send interrupt: true.", 1
    ),
    "thread_full": ProblemKind(
        409, "Thread full", "Begin a new thread: this one has as many messages as a thread can hold."
    ),
    "busy": ProblemKind(
        409, "Busy", "Too many messages wait in this thread; send the message again in a moment.", 1
    ),
    "cancelled": ProblemKind(409, "Cancelled", "The turn was cancelled before it had an answer."),
    "closed": ProblemKind(
        409, "Call closed", "The call has ended, or is not yours to run; read it to see how it stands."
    ),
    "expired": ProblemKind(409, "Call expired", "The deadline of the call has passed; ask for it again."),
    "not_approved": ProblemKind(409, "Call not approved", "Get the call approved first."),
    "not_begun": ProblemKind(
        409, "Call not begun", "Begin the approved call first; only a begun call has an outcome to report."
    ),
    "begun": ProblemKind(409, "Call begun", "The call has begun already; read it to see how it stands."),
    "arguments_changed": ProblemKind(
        409, "Arguments changed", "Read the call again: its arguments are not those of that hash."
    ),
    "changed": ProblemKind(
        409, "Item changed", "Read the item again: it, or an item that it replaces, has changed since."
    ),
    "refused": ProblemKind(
        409, "Not possible", "The item is not in a status for that; read it to see how it stands."
    ),
    "already_reported": ProblemKind(
        409, "Already reported", "The call has another result; the first report stands."
    ),
    "lease_over": ProblemKind(409, "Lease over", "The report came too late; the call has ended as unknown."),
    "in_progress": ProblemKind(
        409, "Request in progress", "The request with this Idempotency-Key has no answer yet.", 1
    ),
    "too_many_projects": ProblemKind(409, "Too many projects", "Delete a project first."),
    "project_full": ProblemKind(409, "Project full", "Delete documents of this project first."),
    "rules_too_long": ProblemKind(
        409,
        "Rules too long",
        f"Keep the RULES of a project within {RULES_BYTES // 1024} KB: each prompt holds them.",
    ),
    "prompt_too_long": ProblemKind(
        409, "Prompt too long", "Shorten the message, the tools or the project's RULES."
    ),
    "kept": ProblemKind(409, "Project kept", "The house's own project cannot be deleted."),
    "conflict": ProblemKind(
        409, "Conflict", "The request does not fit the present state; read the resource again."
    ),
    "too_large": ProblemKind(413, "Too large", f"Send a body of at most {BODY_MAX // 1024} KB."),
    "upload_too_large": ProblemKind(
        413, "Upload too large", f"Send a file of at most {UPLOAD_MAX // 1024 // 1024} MB."
    ),
    "text_too_long": ProblemKind(
        413, "Text too long", "Send the document in parts: its text is too long for one."
    ),
    "unsupported_media_type": ProblemKind(
        415, "Unsupported media type", "Send Content-Type: application/json, and no Content-Encoding."
    ),
    "misdirected": ProblemKind(
        421, "Misdirected", "This server does not answer to that Host; see --allow-host."
    ),
    "key_reused": ProblemKind(
        422, "Key reused", "This Idempotency-Key was sent with another request: take a new one."
    ),
    "unreadable": ProblemKind(
        422,
        "Unreadable document",
        "The file could not be read as the type that it claims; check it, then upload it again.",
    ),
    "rate_limited": ProblemKind(429, "Too many requests", "Wait a moment before you ask again.", 1),
    "head_too_large": ProblemKind(
        431, "Head too large", f"Send a request line and headers of at most {HEAD_MAX // 1024} KB."
    ),
    "internal": ProblemKind(
        500, "Internal error", "The server failed; send the request again, or report the fault."
    ),
    "storage": ProblemKind(
        503, "Storage unavailable", "The server cannot store anything just now; send the request again.", 2
    ),
    "bad_story": ProblemKind(
        400, "Unusable story", "Change what the detail names, and send the story again."
    ),
    "inherited": ProblemKind(
        409, "Scene inherited", "Another branch has the scene: begin a branch before it, and change that one."
    ),
    "moved": ProblemKind(409, "Branch moved", "The branch has gone on since; read it again."),
    "story_full": ProblemKind(
        409, "Story full", "The story has reached a limit; delete what it does not need."
    ),
    "story_failed": ProblemKind(
        503, "Stories unavailable", "Stories cannot be read or written just now; send the request again.", 2
    ),
    "model_failed": ProblemKind(
        502, "No answer of the model", "The model gave no answer; send the request again."
    ),
    "shutting_down": ProblemKind(503, "Going down", "The server is going down; send the request again.", 2),
    "starting": ProblemKind(503, "Starting", "The server is not ready yet; send the request again.", 2),
    "full": ProblemKind(503, "Full", "All places are taken; send the request again in a moment.", 2),
    "too_many_threads": ProblemKind(
        503, "Full", "Too many threads are awake; send the request again in a moment.", 2
    ),
    "too_many_uploads": ProblemKind(
        503, "Full", f"{UPLOADS_AT_ONCE} uploads are being read; send this one again in a moment.", 2
    ),
    "unknown_version": ProblemKind(505, "Unknown version", "Send HTTP/1.1."),
}
_USUAL = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
}
_USUAL |= {408: "too_slow", 413: "too_large", 421: "misdirected", 429: "rate_limited", 431: "head_too_large"}
_USUAL |= {503: "full", 505: "unknown_version"}


class FieldError(msgspec.Struct, frozen=True):
    """A fault at one place: `pointer` is a JSON Pointer into the body ("" is the whole), `detail` says how to mend
    it.
    """

    pointer: str
    detail: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """The reason for a failed request. `code` is a word for programs. `error` is the title again.

    `decision` is the one about a call that came first, and stands.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[FieldError, ...]
    error: str
    decision: DecisionView | msgspec.UnsetType = msgspec.UNSET


class ProblemError(AgentError):
    """A request that cannot be done. `code` is one of `FAULTS`. `detail` replaces the code's own, and holds no sent
    values. `decision` is the one that stands.
    """

    def __init__(
        self,
        code: str,
        detail: str = "",
        errors: Sequence[FieldError] = (),
        decision: DecisionView | None = None,
    ) -> None:
        super().__init__(code)
        self.decision = decision
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)


def make_problem(
    code: str,
    detail: str = "",
    errors: Sequence[FieldError] = (),
    decision: DecisionView | None = None,
) -> Problem:
    """Return the problem of a code in `FAULTS`; for any other code, that of a conflict without a text of its own."""
    name = code if code in FAULTS else "conflict"
    fault = FAULTS[name]
    return Problem(
        type=f"urn:problem-type:agent:{name}",
        title=fault.title,
        status=fault.status,
        detail=detail or fault.detail,
        code=name,
        errors=tuple(errors),
        error=fault.title,
        decision=msgspec.UNSET if decision is None else decision,
    )


def code_of(status: int, code: str) -> str:
    """Return the code of a refusal from elsewhere: `code` where `FAULTS` has it with this status, else the status's
    code.
    """
    return code if code in FAULTS and FAULTS[code].status == status else _USUAL.get(status, "bad_request")


# --- faults of a body or a query

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)  # whole, or to the end; possessive, hence linear
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_PLACE = re.compile(r" - at (?:`?key`? in )?`\$")
_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+)\]")
_MISSING = re.compile(r"Object missing required field `([A-Za-z_][A-Za-z0-9_]*)`")
_EXPECTED = re.compile(r"Expected [^'\"]*")
_QUERY_FIELDS = 16


@cache
def _decoder(kind: "type[Any]") -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(kind, strict=True)


@cache
def _blank_fields(kind: "type[Any]") -> frozenset[str]:
    """Return the optional fields of a Struct that counts them as absent where they are `""` or null.

    That is a Struct that ignores unknown fields; and every optional field but one that holds any JSON, and one whose
    default is `UNSET`, which tells null from absent.
    """
    if kind.__struct_config__.forbid_unknown_fields:
        return frozenset()
    fields = msgspec.structs.fields(kind)
    return frozenset(
        field.encode_name
        for field in fields
        if not field.required and field.type is not Any and field.default is not msgspec.UNSET
    )


_fields: "msgspec.json.Decoder[dict[str, msgspec.Raw]]" = msgspec.json.Decoder(dict[str, msgspec.Raw])
_BLANK = frozenset((b'""', b"null"))


def _drop_blank_fields(kind: "type[Any]", body: bytes) -> bytes:
    """Return a JSON body without the optional fields of `kind` that are empty."""
    optional = _blank_fields(kind)  # type: ignore[arg-type]
    if not optional:
        return body
    fields = _fields.decode(body)
    blank = {name for name in optional & fields.keys() if bytes(fields[name]) in _BLANK}
    return msgspec.json.encode({name: fields[name] for name in fields.keys() - blank}) if blank else body


def decode(kind: type[T], body: bytes) -> T:
    """Return a JSON body as a Struct, with a U+FFFD for each U+0000 in it.

    Where the Struct ignores unknown fields, an optional field that is `""` or null counts as absent. Raises
    `ProblemError`, which names the place that does not fit and repeats no value.
    """
    try:
        body = json_without_nul(body)
        if _is_too_deep(body):
            raise RecursionError
        decoded: T = _decoder(kind).decode(_drop_blank_fields(kind, body))  # type: ignore[arg-type]
        json.loads(body, object_pairs_hook=_refuse_duplicates, parse_int=str, parse_float=str)
        return decoded
    except _DuplicateField:
        problem = ProblemError("bad_request", "Send each field of an object once.")
    except RecursionError:
        problem = ProblemError("bad_json", f"Nest arrays and objects at most {MAX_NESTING} deep.")
    except msgspec.ValidationError as error:
        problem = ProblemError("bad_request", errors=(_describe_error(str(error)),))
    except (msgspec.DecodeError, UnicodeError):
        problem = ProblemError("bad_json")
    # Raised out here so that an exception which quotes the body does not travel along as context.
    raise problem


class _DuplicateField(Exception):
    """A field that an object has twice."""


def _refuse_duplicates(fields: list[tuple[str, Any]]) -> None:
    """Raise `_DuplicateField` where an object has a field twice: another reader may take the one that does not count
    here.
    """
    if len(dict(fields)) < len(fields):
        raise _DuplicateField


def decode_query(kind: type[T], query: bytes) -> T:
    """Return the parameters of a request as a Struct: each at most once, no unknown ones, without U+0000."""
    try:
        pairs = parse_qsl(
            query_without_nul(query).decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            errors="strict",
            max_num_fields=_QUERY_FIELDS,
        )
        if len(dict(pairs)) < len(pairs):
            raise ValueError("twice")
        return msgspec.convert(dict(pairs), kind, strict=False)
    except msgspec.ValidationError as error:
        fault = _describe_error(str(error))
        name = fault.pointer.removeprefix("/")
        detail = f"The query's {name}: {fault.detail}" if name else f"The query: {fault.detail}"
        problem = ProblemError("bad_request", detail)
    except ValueError:
        problem = ProblemError(
            "bad_request", "Send each parameter of the query once, percent-encoded as UTF-8."
        )
    raise problem


def missing_fields(*fields: str) -> ProblemError:
    """Return the problem of a body that lacks `fields`."""
    return ProblemError(
        "bad_request", errors=[FieldError(f"/{field}", "Add this field.") for field in fields]
    )


def _is_too_deep(body: bytes) -> bool:
    """Return whether brackets outside strings stand more than `MAX_NESTING` deep: each pass removes the innermost
    ones.
    """
    if body.count(b"[") + body.count(b"{") <= MAX_NESTING:
        return False
    left = _STRINGS.sub(b"", body).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(MAX_NESTING):
        left = left.replace(b"[]", b"")
    return bool(left)


def _describe_error(complaint: str) -> FieldError:
    """Return the part of msgspec's complaint that may be sent: the place and the type, never the value."""
    match = _PLACE.search(complaint) if complaint.endswith("`") else None
    text, place = (complaint[: match.start()], complaint[match.end() : -1]) if match else (complaint, "")
    pointer = "".join(f"/{name or number}" for name, number in _STEP.findall(place.partition("[...]")[0]))
    if absent := _MISSING.fullmatch(text):
        return FieldError(f"{pointer}/{absent[1]}", "Add this field.")
    if text.startswith("Object contains unknown field"):
        return FieldError(pointer, "Leave this field out; it does not exist here.")
    if _EXPECTED.fullmatch(text):
        return FieldError(pointer, f"{text}.")
    if text.startswith("Invalid enum value"):
        return FieldError(pointer, "Send one of the words that are allowed here.")
    return FieldError(pointer, "Send a value that is allowed here.")
