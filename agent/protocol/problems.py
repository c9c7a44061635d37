"""What went wrong with a request, as `application/problem+json` (RFC 9457); pure.

One table says for each code its status, its title and what to do. A detail never repeats a value that was sent; where
the place in what was sent is known, `errors` has it as a JSON Pointer. `error` repeats the title, for older callers.
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
from .nul import json_without_nul, query_without_nul

T = TypeVar("T")
KIND = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of problem. retry_after: seconds after which it may be tried again; 0 where nothing is known of that."""

    status: int
    title: str
    detail: str
    retry_after: int = 0


FAULTS: Mapping[str, Fault] = {
    "bad_request": Fault(400, "Bad request", "Change what the errors name; the types are in /openapi.json."),
    "bad_json": Fault(
        400, "Not JSON", "Send one JSON object in UTF-8, without NaN, Infinity or half characters."
    ),
    "bad_cursor": Fault(400, "Unknown cursor", "Send a next_cursor of this list as it came, or none."),
    "bad_tool": Fault(400, "Unusable tool", "Change the tool's definition."),
    "bad_edit": Fault(400, "Unusable arguments", "Send arguments that the tool takes; the call still waits."),
    "bad_item": Fault(400, "Unusable item", "Change what the errors name, and send it again."),
    "bad_upload": Fault(400, "Unusable upload", "Send multipart/form-data with one file and its category."),
    "unauthorized": Fault(401, "Not authorised", "Send the key as X-AGENT-KEY, or as Authorization: Bearer."),
    "forbidden": Fault(403, "Not allowed", "Requests from that Origin are not allowed; see --allow-origin."),
    "not_found": Fault(404, "Not found", "There is nothing here by that name."),
    "method_not_allowed": Fault(405, "Method not allowed", "Use a method that Allow names."),
    "too_slow": Fault(408, "Too slow", "Send the whole request sooner."),
    "turn_in_progress": Fault(
        409, "Turn in progress", "Wait for its end, cancel it, or send interrupt: true.", 1
    ),
    "thread_full": Fault(409, "Thread full", "Begin a new thread: this one holds all that one may."),
    "busy": Fault(409, "Busy", "Too much waits in this thread; send the message again in a moment.", 1),
    "cancelled": Fault(409, "Cancelled", "The turn was cancelled before it had an answer."),
    "closed": Fault(
        409, "Call closed", "The call has ended, or is not yours to run; read it to see how it stands."
    ),
    "expired": Fault(409, "Call expired", "Its time was over; ask for it again."),
    "not_approved": Fault(409, "Call not approved", "Somebody has to approve the call first."),
    "not_begun": Fault(
        409, "Call not begun", "Begin the call first; what was not taken has nothing to report."
    ),
    "begun": Fault(409, "Call begun", "Somebody has begun the call already."),
    "arguments_changed": Fault(
        409, "Arguments changed", "Read the call again: its arguments are not those of that hash."
    ),
    "changed": Fault(
        409, "Item changed", "Read the item again: it, or what it replaces, is not what was seen."
    ),
    "refused": Fault(
        409, "Not possible", "The item is not in a status for that; read it to see how it stands."
    ),
    "already_reported": Fault(
        409, "Already reported", "The call has another result; the first report stands."
    ),
    "lease_over": Fault(409, "Lease over", "The report came too late; nobody knows now how the call ended."),
    "in_progress": Fault(
        409, "Request in progress", "The request with this Idempotency-Key has no answer yet.", 1
    ),
    "too_many_projects": Fault(409, "Too many projects", "Delete a project first."),
    "project_full": Fault(409, "Project full", "Delete documents of this project first."),
    "rules_too_long": Fault(
        409,
        "Rules too long",
        f"Keep the RULES of a project within {RULES_BYTES // 1024} KB: each prompt holds them.",
    ),
    "prompt_too_long": Fault(
        409, "Prompt too long", "Shorten the message, the tools or the project's RULES."
    ),
    "kept": Fault(409, "Project kept", "The house's own project cannot be deleted."),
    "conflict": Fault(409, "Conflict", "It cannot be done as things are now; read it again."),
    "too_large": Fault(413, "Too large", f"Send a body of at most {BODY_MAX // 1024} KB."),
    "upload_too_large": Fault(
        413, "Upload too large", f"Send a file of at most {UPLOAD_MAX // 1024 // 1024} MB."
    ),
    "text_too_long": Fault(413, "Text too long", "Send the document in parts: its text is too long for one."),
    "unsupported_media_type": Fault(
        415, "Unsupported media type", "Send Content-Type: application/json, and no Content-Encoding."
    ),
    "misdirected": Fault(421, "Misdirected", "This server does not answer to that Host; see --allow-host."),
    "key_reused": Fault(
        422, "Key reused", "This Idempotency-Key was sent with another request: take a new one."
    ),
    "unreadable": Fault(422, "Unreadable document", "The file could not be read as what it says it is."),
    "rate_limited": Fault(429, "Too many requests", "Wait a moment before you ask again.", 1),
    "head_too_large": Fault(
        431, "Head too large", f"Send a request line and headers of at most {HEAD_MAX // 1024} KB."
    ),
    "internal": Fault(500, "Internal error", "Something broke here; ask again, or report the fault."),
    "storage": Fault(503, "Storage unavailable", "Nothing can be kept just now; send the request again.", 2),
    "shutting_down": Fault(503, "Going down", "The server is going down; send the request again.", 2),
    "starting": Fault(503, "Starting", "The server is not ready yet; send the request again.", 2),
    "full": Fault(503, "Full", "All places are taken; send the request again in a moment.", 2),
    "too_many_threads": Fault(
        503, "Full", "Too many threads are awake; send the request again in a moment.", 2
    ),
    "too_many_uploads": Fault(
        503, "Full", f"{UPLOADS_AT_ONCE} uploads are being read; send this one again in a moment.", 2
    ),
    "unknown_version": Fault(505, "Unknown version", "Send HTTP/1.1."),
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


class Wrong(msgspec.Struct, frozen=True):
    """One thing that is wrong: where, as a JSON Pointer into the body ("" is the whole), and what to change."""

    pointer: str
    detail: str


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not done. code: a word for programs. error: the title again."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: tuple[Wrong, ...]
    error: str


class Unanswerable(AgentError):
    """A request that cannot be done. code: of FAULTS. detail: in place of the code's own, and as free of values."""

    def __init__(self, code: str, detail: str = "", errors: Sequence[Wrong] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.errors = tuple(errors)


def problem(code: str, detail: str = "", errors: Sequence[Wrong] = ()) -> Problem:
    """Return the problem of a code in FAULTS; of any other one, of a conflict that has no words here yet."""
    name = code if code in FAULTS else "conflict"
    fault = FAULTS[name]
    return Problem(
        f"urn:problem-type:agent:{name}",
        fault.title,
        fault.status,
        detail or fault.detail,
        name,
        tuple(errors),
        fault.title,
    )


def code_of(status: int, code: str) -> str:
    """Return the code of a refusal that was made elsewhere: its own where it is one of these, else its status's."""
    return code if code in FAULTS and FAULTS[code].status == status else _USUAL.get(status, "bad_request")


# --- what is wrong with a body or a query

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


def decode(kind: type[T], body: bytes) -> T:
    """Return a JSON body as a Struct, a U+FFFD for each U+0000 of it.

    Raises Unanswerable, which says where it does not fit and repeats no value.
    """
    try:
        body = json_without_nul(body)
        if _too_deep(body):
            raise RecursionError
        decoded: T = _decoder(kind).decode(body)  # type: ignore[arg-type]
        json.loads(body, object_pairs_hook=_once, parse_int=str, parse_float=str)
        return decoded
    except _Twice:
        wrong = Unanswerable("bad_request", "Send each field of an object once.")
    except RecursionError:
        wrong = Unanswerable("bad_json", f"Nest arrays and objects at most {MAX_NESTING} deep.")
    except msgspec.ValidationError as error:
        wrong = Unanswerable("bad_request", errors=(_wrong(str(error)),))
    except (msgspec.DecodeError, UnicodeError):
        wrong = Unanswerable("bad_json")
    # Raised out here so that an exception which quotes the body does not travel along as context.
    raise wrong


class _Twice(Exception):
    """A field that an object has twice."""


def _once(fields: list[tuple[str, Any]]) -> None:
    """Raise _Twice where an object has a field twice: who else reads it may go by the one that does not count here."""
    if len(dict(fields)) < len(fields):
        raise _Twice


def decode_query(kind: type[T], query: bytes) -> T:
    """Return the parameters of a request as a Struct: each at most once, none that it does not have, without U+0000."""
    try:
        given = parse_qsl(
            query_without_nul(query).decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            errors="strict",
            max_num_fields=_QUERY_FIELDS,
        )
        if len(dict(given)) < len(given):
            raise ValueError("twice")
        return msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as error:
        found = _wrong(str(error))
        name = found.pointer.removeprefix("/")
        said = f"The query's {name}: {found.detail}" if name else f"The query: {found.detail}"
        wrong = Unanswerable("bad_request", said)
    except ValueError:
        wrong = Unanswerable(
            "bad_request", "Send each parameter of the query once, percent-encoded as UTF-8."
        )
    raise wrong


def missing(*fields: str) -> Unanswerable:
    """Return the problem of a body that lacks fields."""
    return Unanswerable("bad_request", errors=[Wrong(f"/{field}", "Add this field.") for field in fields])


def _too_deep(body: bytes) -> bool:
    """Return whether brackets outside strings stand more than MAX_NESTING deep: each pass takes the innermost away."""
    if body.count(b"[") + body.count(b"{") <= MAX_NESTING:
        return False
    left = _STRINGS.sub(b"", body).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(MAX_NESTING):
        left = left.replace(b"[]", b"")
    return bool(left)


def _wrong(told: str) -> Wrong:
    """Make what msgspec says of a value to what may be told: its place and the type, never the value."""
    found = _PLACE.search(told) if told.endswith("`") else None
    said, place = (told[: found.start()], told[found.end() : -1]) if found else (told, "")
    pointer = "".join(f"/{name or number}" for name, number in _STEP.findall(place.partition("[...]")[0]))
    if absent := _MISSING.fullmatch(said):
        return Wrong(f"{pointer}/{absent[1]}", "Add this field.")
    if said.startswith("Object contains unknown field"):
        return Wrong(pointer, "Leave out what is no field here.")
    if _EXPECTED.fullmatch(said):
        return Wrong(pointer, f"{said}.")
    if said.startswith("Invalid enum value"):
        return Wrong(pointer, "Send one of the words that are allowed here.")
    return Wrong(pointer, "Send a value that is allowed here.")
