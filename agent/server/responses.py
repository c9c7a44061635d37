"""HTTP answers as values, and their bytes: whole answers, and the heads and chunks of streamed ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from .settings import IDLE_TIMEOUT

JSON, TEXT = "application/json", "text/plain; charset=utf-8"
# The page loads nothing from elsewhere, runs no inline script, and cannot be framed.
SECURITY: Mapping[str, str] = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8", **SECURITY, "X-Accel-Buffering": "no"}
_CLOSE = ("Connection: close",)
_KEEP = ("Connection: keep-alive", f"Keep-Alive: timeout={IDLE_TIMEOUT:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer.

    `kind`: the media type of `content`. `stored_content`: the content to store for a repeated request, if it is not
    `content` itself. `created_project`: the project that the request created, if it created one.
    """

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = JSON
    stored_content: bytes | None = None
    created_project: str | None = None

    def render(self, body: bool = True, keep: bool = False) -> bytes:
        """Return the whole HTTP/1.1 answer as bytes; without its `body` for a HEAD request.

        `keep`: whether another request may follow on the connection.
        """
        about = (
            {}
            if self.status in (204, 304)
            else {"Content-Type": self.kind, "Content-Length": str(len(self.content))}
        )
        head = render_head({**about, **SECURITY, **self.headers}, self.status, keep)
        return head + self.content if body else head


def plain_text(words: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer of plain text."""
    return Answer(status=status, content=words.encode(), headers=headers or {}, kind=TEXT)


def render_head(headers: Mapping[str, str], status: int = 200, keep: bool = False) -> bytes:
    """Return an answer's head. `keep`: whether another request may follow; else it says `Connection: close`."""
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
        *(_KEEP if keep else _CLOSE),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("ascii")


def encode_chunk(data: bytes) -> bytes:
    """Return `data` as one chunk (RFC 9112, 7.1); empty `data` makes the last chunk."""
    return b"%x\r\n%s\r\n" % (len(data), data)
