"""Uploads: `multipart/form-data` with one file, read as it comes into memory, never to disk.

The parser is python-multipart's, fed by our own reader, which bounds the body in bytes and seconds. The parser accepts
a body that ends too early, so `Multipart` checks for the end.
"""

from collections.abc import Callable

from ...config import UPLOAD_MAX
from ...protocol.problems import FieldError, ProblemError, missing_fields
from ...text.words import replace_nul
from ..body import is_plain
from ..request_head import Head
from . import open as opened
from .context import UploadedFile

FILENAME_CHARACTERS = 200
UPLOAD_FIELDS = 8  # beside the file, each of at most ...
UPLOAD_FIELD = 1024  # ... so much, name and headers too

ENVELOPE = 64 * 1024  # bytes of a body beside those of its file
CATEGORIES = ("FACTS", "RULES", "STATE")
_KIND = b"multipart/form-data"


class Multipart:
    """One multipart body. Call `feed` for each piece of it, then `finish`."""

    def __init__(self, head: Head) -> None:
        """Start on a body. Raises `ProblemError` if `head` does not announce `multipart/form-data`."""
        kinds = head.values(b"content-type")
        kind, about = opened.options(kinds[0]) if len(kinds) == 1 else (b"", {})
        boundary = about.get(b"boundary", b"")
        if kind != _KIND or not is_plain(head) or not boundary:
            raise ProblemError(
                "unsupported_media_type", "Send multipart/form-data with a boundary, and no Content-Encoding."
            )
        calls: dict[str, Callable[..., None]] = {
            "on_part_begin": self._begin,
            "on_header_field": self._name,
            "on_header_value": self._value,
            "on_header_end": self._header,
            "on_headers_finished": self._headers,
            "on_part_data": self._data,
            "on_part_end": self._end,
            "on_end": self._all,
        }
        self._fields: dict[str, bytes] = {}
        self._file: bytearray | None = None
        self._filename = ""
        self._mime = ""
        self._about: dict[bytes, bytes] = {}  # of the part that is read: its headers
        self._header_name = self._header_value = b""
        self._part = bytearray()
        self._part_name = ""
        self._is_file = False
        self._parts = 0
        self._ended = False
        try:
            self._parser = opened.parser(boundary, calls, UPLOAD_FIELD)
        except ValueError:
            raise ProblemError("bad_upload", "Send a boundary of at most 70 characters.") from None

    def feed(self, data: bytes) -> None:
        """Parse a piece of the body. Raises `ProblemError` if it is malformed, or has too many or too large parts."""
        wrong = False
        try:
            self._parser.write(data)
        except ValueError:
            wrong = True
        if wrong:
            raise ProblemError(
                "bad_upload", "Send multipart/form-data as its boundary says; this could not be read."
            )

    def finish(self) -> UploadedFile:
        """Return the upload. Raises `ProblemError` if the body is not whole, or lacks a file or a valid category."""
        if not self._ended:
            raise ProblemError("bad_upload", "Send the body whole: its last boundary did not come.")
        category = self._fields.get("category", b"").decode("utf-8", "replace")
        if self._file is None:
            raise missing_fields("file")
        if not category:
            raise missing_fields("category")
        if category not in CATEGORIES:
            raise ProblemError(
                "bad_upload", errors=[FieldError("/category", f"Send one of {', '.join(CATEGORIES)}.")]
            )
        return UploadedFile(category, self._filename, self._mime, bytes(self._file))

    def _begin(self) -> None:
        self._parts += 1
        if self._parts > UPLOAD_FIELDS + 1:
            raise ProblemError("bad_upload", f"Send at most {UPLOAD_FIELDS} fields beside the file.")
        self._about = {}
        self._part = bytearray()

    def _name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _header(self) -> None:
        self._about[self._header_name.lower()] = self._header_value
        self._header_name = self._header_value = b""

    def _headers(self) -> None:
        disposition, about = opened.options(self._about.get(b"content-disposition", b""))
        if disposition != b"form-data" or b"name" not in about:
            raise ProblemError("bad_upload", "Give each part a Content-Disposition: form-data with a name.")
        self._part_name = about[b"name"].decode("latin-1")
        self._is_file = b"filename" in about
        if not self._is_file:
            return
        if self._file is not None or self._part_name != "file":
            raise ProblemError("bad_upload", "Send one file, as the field file.")
        self._file = bytearray()
        self._filename = parse_filename(about[b"filename"])
        self._mime = opened.options(self._about.get(b"content-type", b""))[0].decode("latin-1")

    def _data(self, data: bytes, start: int, end: int) -> None:
        if not self._is_file:
            self._part += data[start:end]
            if len(self._part) > UPLOAD_FIELD:
                raise ProblemError(
                    "bad_upload", f"Send fields of at most {UPLOAD_FIELD} bytes beside the file."
                )
            return
        assert self._file is not None
        self._file += data[start:end]
        if len(self._file) > UPLOAD_MAX:
            raise ProblemError("upload_too_large")

    def _end(self) -> None:
        if self._is_file:
            return
        if self._part_name in self._fields:
            raise ProblemError("bad_upload", "Send each field once.")
        self._fields[self._part_name] = bytes(self._part)

    def _all(self) -> None:
        self._ended = True


def parse_filename(given: bytes) -> str:
    """Return the name of a file as it was sent, if it names a file and no folder.

    `given`: UTF-8, as browsers and clients send it. Raises `ProblemError` for a name with a slash, ".." or control
    characters, and for an empty or too long name.
    """
    try:
        name = replace_nul(given.decode("utf-8"))
    except UnicodeDecodeError:
        name = ""
    if not 1 <= len(name) <= FILENAME_CHARACTERS or not name.isprintable() or name.strip() != name:
        raise ProblemError(
            "bad_upload",
            f"Give the file a name of 1 to {FILENAME_CHARACTERS} characters in UTF-8, without control characters.",
        )
    if "/" in name or "\\" in name or ".." in name or name == ".":
        raise ProblemError("bad_upload", 'Give the file a name without folders: no "/", "\\" or "..".')
    return name
