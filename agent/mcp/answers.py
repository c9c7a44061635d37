"""Reads the result of a tool: its data, or the reason that there is none; pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ..config import MAX_NESTING
from ..errors import ActionFailed, ActionUnknown
from ..protocol.payload import is_deeper_than

MCP_ANSWER_MAX = 16 * 1024  # bytes of a result, as JSON
MCP_ERROR_CHARACTERS = 1000  # of a tool's own error text


def data_of(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a result: its structured value, else its text as `{"text": ...}`.

    `result`: `{content, structuredContent, isError}` as JSON. Pictures and sounds are left out. A structured value that
    is no object stands under `answer`.

    Raises `ActionFailed`, with the first `MCP_ERROR_CHARACTERS` of the text, when the tool reports that it failed, as a
    webhook's 4xx does. Raises `ActionUnknown` for a result over `MCP_ANSWER_MAX` bytes or `MAX_NESTING` levels, as for
    any answer that is too long.
    """
    text = _join_texts(result.get("content"))
    if result.get("isError", False) is not False:
        reason = text[:MCP_ERROR_CHARACTERS].strip()
        raise ActionFailed(f"The tool failed: {reason}" if reason else "The tool failed and did not say why.")
    structured = result.get("structuredContent")
    data: Any = structured if isinstance(structured, dict) else {"answer": structured}
    if structured is None:
        data = {"text": text} if text else {}
    if is_deeper_than(MAX_NESTING, data) or len(msgspec.json.encode(data)) > MCP_ANSWER_MAX:
        raise ActionUnknown("The tool was called but what it answered is too long or too deep to be read.")
    return dict(data)


def _join_texts(content: Any) -> str:
    """Return the texts of a result's content, each on lines of its own."""
    blocks = content if isinstance(content, list) else []
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
