"""Describes the wire as an AsyncAPI 3.0 document, built from the message types; pure.

Strategy: msgspec gives a JSON Schema for each Struct of `inbound` and `outbound`; around them stands a channel for each
kind of connection with an operation per direction, and the facts that types cannot express: subprotocols, close codes
and the meaning of each error code. Everything is sorted, so the same types give the same bytes.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from ..config import BAD_FRAMES, BAD_FRAMES_WINDOW, KEEPALIVE_ANSWER, KEEPALIVE_EVERY, MAX_FRAME
from ..ports.voice import CHUNK_BYTES, SAMPLE_RATE
from .audio import LONGEST_FRAME, SHORTEST_FRAME
from .kinds import KINDS, SUBPROTOCOL, ConnectionKind, list_frames

_AUDIO = "audio"  # the name of binary frames, which have no type

CLOSE_CODES = {
    1000: "normal",
    1001: "server going down",
    1007: "invalid UTF-8",
    1008: f"policy: {BAD_FRAMES} bad frames in {BAD_FRAMES_WINDOW:g} s, or too many frames",
    1009: f"frame over {MAX_FRAME} bytes",
    1011: f"keepalive lost: a ping every {KEEPALIVE_EVERY:g} s has {KEEPALIVE_ANSWER:g} s to be answered",
    1012: "server going down; the reason says in how many seconds to connect again",
    1013: "others wait for a place and no message came; the reason says in how many seconds to connect again",
    4401: "not authorised",
    4408: "no message in the time that a new connection has for its first",
}

ERROR_CODES = {
    "bad_edit": "the tool does not take the arguments of this confirm; the suggestion stays, and the connection",
    "bad_tool": "a tool of the message cannot be used, the sentence says which and why; the message was not taken",
    "bad_json": "the frame is not JSON; the connection stays",
    "bad_message": "the frame is JSON but no message of this document, or it is binary (with voice: no audio that can "
    "be heard; all audio is dropped until the next listen); or, with a suggestionId, the "
    "confirm does not fill in the missing fields: the suggestion stays, and the connection; or a reader's own scene "
    "has no words, or no model told the scene that is to be told again: the story stays",
    "bad_item": "the text of an item cannot be kept, the sentence says why; nothing was done",
    "busy": "too many messages wait for the running action, ask again when it has ended; or too many "
    "requests to memory wait, wait for an answer; or a scene of the branch is being told; or the server listens and "
    "speaks to as many clients as it can: type, or send listen or say again later",
    "changed": "an item, or one that it replaces, has changed since it was seen; nothing was done: list it again",
    "memory_failed": "memory cannot be read or changed just now; list it, then try again",
    "memory_off": "this server has no memory",
    "refused": "an item is not in a status for that; nothing was done",
    "unknown_item": "no such item, or another user's",
    "unknown_thread": "no such thread, or another user's; the present one stays",
    "internal": "a bug; the message holds the id of a log line",
    "unknown_answer": "this session has no such answer any more, or it was forgotten; nothing was stored",
    "feedback_off": "this server stores no feedback",
    "feedback_failed": "the feedback could not be stored just now; send it again",
    "rate_limited": "too many messages that interrupt or queue, or too many from one address; wait, then ask again",
    "shutting_down": "the server is going down and takes no new message or confirm",
    "unknown_story": "no such story or branch, or another user's; what was open stays open",
    "no_story": "no story is open; send open_story first",
    "stale_choice": "the choice is none of the branch's last scene; open the story again to see what it offers",
    "moved": "the branch has gone on, or back, since this connection saw it; open the story again",
    "inherited": "another branch has the scene, so it cannot change; begin a branch before it",
    "story_full": "a limit of stories is reached, the sentence says which; the story stays",
    "story_failed": "the story cannot be read or written just now, or its last scene is not stored yet; try again",
    "voice_failed": "the words of the audio could not be made out, the recogniser failed; say it again, or type",
    "unknown_suggestion": "no such suggestion was made in this session",
}


@cache
def document(kinds: tuple[ConnectionKind, ...] = KINDS) -> bytes:
    """Return the document as indented UTF-8 JSON with sorted keys and a final line break; made once in a process."""
    text = json.dumps(_document(kinds), indent=2, sort_keys=True, ensure_ascii=False)
    return (text + "\n").encode()


def _document(kinds: Sequence[ConnectionKind]) -> dict[str, Any]:
    names = _name_frames(kinds)
    references, schemas = msgspec.json.schema_components(names, ref_template="#/components/schemas/{name}")
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "agent",
            "version": "1.0.0",
            "description": "Questions, verified answers and confirmed actions over one WebSocket: text frames, "
            "one JSON object each. Unknown fields are ignored. Fields that are null may be left out.",
        },
        "defaultContentType": "application/json",
        "servers": {
            "local": {
                "host": "127.0.0.1:8787",
                "protocol": "ws",
                "description": "The default address of `agent serve`.",
            }
        },
        "channels": {kind.name: _describe_channel(kind, names) for kind in kinds},
        "operations": {
            operation: _describe_operation(kind, action, frames)
            for kind in kinds
            for operation, action, frames in zip(
                kind.operations, ("receive", "send"), (kind.inbound, kind.outbound), strict=True
            )
        },
        "components": {
            "messages": {
                name: {"name": _tag(struct), "summary": struct.__doc__, "payload": reference}
                for (struct, name), reference in zip(names.items(), references, strict=True)
            }
            | (
                {_AUDIO: _describe_audio()}
                if any(kind.takes_audio or kind.sends_audio for kind in kinds)
                else {}
            ),
            "schemas": _as_draft_7(schemas),
        },
    }


def _name_frames(kinds: Sequence[ConnectionKind]) -> dict[type[msgspec.Struct], str]:
    """Return a name for each frame: its type, after the kind's name where another frame has the type already."""
    names: dict[type[msgspec.Struct], str] = {}
    for kind in kinds:
        for struct in list_frames(kind.inbound) + list_frames(kind.outbound):
            if struct not in names:
                taken = _tag(struct) in names.values()
                names[struct] = f"{kind.name}_{_tag(struct)}" if taken else _tag(struct)
    return names


def _tag(struct: type[msgspec.Struct]) -> str:
    return str(struct.__struct_config__.tag)


def _describe_channel(kind: ConnectionKind, names: Mapping[type[msgspec.Struct], str]) -> dict[str, Any]:
    structs = list_frames(kind.inbound) + list_frames(kind.outbound)
    return {
        "address": kind.paths[-1].decode(),
        "title": kind.title,
        "description": _describe_use(kind),
        "messages": {_tag(struct): {"$ref": f"#/components/messages/{names[struct]}"} for struct in structs}
        | (
            {_AUDIO: {"$ref": f"#/components/messages/{_AUDIO}"}}
            if kind.takes_audio or kind.sends_audio
            else {}
        ),
        "bindings": {"ws": _describe_handshake(kind)},
        "x-close-codes": {str(code): meaning for code, meaning in CLOSE_CODES.items()},
        "x-error-codes": ERROR_CODES,
    }


def _describe_operation(kind: ConnectionKind, action: str, frames: Any) -> dict[str, Any]:
    messages = f"#/channels/{kind.name}/messages/"
    has_audio = kind.takes_audio if action == "receive" else kind.sends_audio
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{kind.name}"},
        "summary": "The messages that a client may send."
        if action == "receive"
        else "The messages that the server sends.",
        "messages": [
            {"$ref": messages + name}
            for name in (*map(_tag, list_frames(frames)), *([_AUDIO] if has_audio else []))
        ],
    }


def _describe_use(kind: ConnectionKind) -> str:
    """Return what a client must know before it connects."""
    token = "goes in the header Authorization, or from a browser in a second subprotocol, bearer.<token>."
    if kind.is_half:
        return (
            "One connection without a session, where the server has --voice-halves. It is the operator's: the server's "
            f"token {token} Nothing that crosses it is verified, and its first frame says so."
        )
    return (
        f"One connection is one session. A client that offers {kind.subprotocol} is greeted with welcome. "
        f"{_describe_fallback(kind)}A token {token} A client without a user's token may offer visitor.<secret>, 22 to "
        f"64 random characters of base64url that it keeps: its memory belongs to that secret."
    )


def _describe_fallback(kind: ConnectionKind) -> str:
    """Return the sentence about a server that does not know the subprotocol of `kind`; "" where all servers do."""
    if kind.subprotocol == SUBPROTOCOL:
        return ""
    return f"It offers {SUBPROTOCOL} too, which a server without voice confirms in its place. "


def _describe_audio() -> dict[str, Any]:
    """Return the message of a binary frame."""
    return {
        "name": _AUDIO,
        "summary": "Audio, the whole of a binary frame: PCM, 16-bit little-endian, mono, "
        f"{SAMPLE_RATE} samples a second. A client's frame has an even number of bytes from {SHORTEST_FRAME} to "
        f"{LONGEST_FRAME}, which is 20 to 100 ms, and comes between listen with on true and with on false, at most "
        f"two seconds ahead of real time. A server's has up to {CHUNK_BYTES} bytes, and follows its speech frame.",
        "contentType": "application/octet-stream",
        "payload": {"type": "string", "format": "binary"},
    }


def _describe_handshake(kind: ConnectionKind) -> dict[str, Any]:
    offered = SUBPROTOCOL if kind.subprotocol == SUBPROTOCOL else f"{kind.subprotocol}, {SUBPROTOCOL}"
    return {
        "method": "GET",
        "headers": {
            "type": "object",
            "properties": {
                "Sec-WebSocket-Protocol": {
                    "type": "string",
                    "examples": [
                        offered,
                        f"{offered}, bearer.<token>",
                        *([] if kind.is_half else [f"{offered}, visitor.<secret>"]),
                    ],
                },
                "Authorization": {"type": "string", "examples": ["Bearer <token>"]},
            },
        },
        "bindingVersion": "0.1.0",
    }


def _as_draft_7(schema: Any) -> Any:
    """Spell tuples as JSON Schema draft 7 does, on which AsyncAPI 3.0 builds; msgspec writes draft 2020-12."""
    if isinstance(schema, list):
        return [_as_draft_7(element) for element in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _as_draft_7(value) for name, value in schema.items()}
    if "prefixItems" in plain:
        plain["additionalItems"] = plain["items"]
        plain["items"] = plain.pop("prefixItems")
    return plain
