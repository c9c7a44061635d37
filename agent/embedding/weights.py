"""Reads a model's files from a folder or a zip archive, and the tensors of a safetensors file.

Strategy: a file in a folder is mapped into memory, so that its pages are read when they are used and shared with other
processes; a member of an archive is unpacked into memory once. Tensors of float32 are views of those bytes, halves are
widened unless the caller keeps them. The format is 8 bytes, a JSON table and the numbers
(https://github.com/huggingface/safetensors#format). It is read here rather than by its library, which copies every
tensor, knows no bfloat16 without torch, and reads nothing from an archive. A table is believed only where its numbers
fit the file. No code is ever run from a file (no pickle).
"""

import hashlib
import math
import mmap
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import GivenUp, UsageError

Matrix: TypeAlias = NDArray[np.float32]
Tensors: TypeAlias = Mapping[str, Matrix]
GivenUpAsked: TypeAlias = Callable[[], bool]

_PIECE = 1 << 20  # bytes between two calls of `given_up`: about a millisecond
_SMALL_MAX = 64 << 20  # bytes of a configuration or a tokenizer


class Files(Protocol):
    """The files of a model."""

    @property
    def place(self) -> str:
        """The place of the files, as an operator knows it."""
        ...

    def read_bytes(self, name: str) -> bytes | None:
        """Return a small file's bytes; `None` when it is missing. Raises `UsageError` when it cannot be read."""
        ...

    def view(self, name: str, given_up: GivenUpAsked) -> memoryview:
        """Return a large file's bytes.

        Raises `UsageError` when it is missing, `GivenUp` when `given_up` returns true.
        """
        ...


class Folder:
    """A model's files in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place = str(path)

    def read_bytes(self, name: str) -> bytes | None:
        """Return a small file's bytes; `None` when it is missing. Raises `UsageError` when it cannot be read."""
        path = self._path / name
        try:
            if path.stat().st_size > _SMALL_MAX:
                raise UsageError(f"{path} is too large")
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from None

    def view(self, name: str, given_up: GivenUpAsked) -> memoryview:
        """Return a file's bytes, mapped into memory; the file must not be changed in place while they are in use."""
        path = self._path / name
        try:
            with path.open("rb") as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            raise UsageError(f"{path} is missing") from None
        except (OSError, ValueError) as error:  # mmap raises ValueError for an empty file
            raise UsageError(f"cannot read {path}: {error}") from None


class Archive:
    """A model's files in a zip archive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place = str(path)

    def read_bytes(self, name: str) -> bytes | None:
        """Return a small member's bytes; `None` when it is missing. Raises `UsageError` when it cannot be read."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                if name not in archive.namelist():
                    return None
                if archive.getinfo(name).file_size > _SMALL_MAX:
                    raise UsageError(f"{name} in {self._path} is too large")
                return archive.read(name)
        except (OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"cannot read {self._path}: {error}") from None

    def view(self, name: str, given_up: GivenUpAsked) -> memoryview:
        """Return a member's bytes, unpacked into memory: 90 MB take half a second of CPU."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                if name not in archive.namelist():
                    raise UsageError(f"{name} is missing in {self._path}")
                content = bytearray(archive.getinfo(name).file_size)
                at = 0
                with archive.open(name) as member:
                    while piece := member.read(_PIECE):
                        content[at : at + len(piece)] = piece
                        at += len(piece)
                        if given_up():
                            raise GivenUp
                return memoryview(content).toreadonly()
        except (OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"cannot read {self._path}: {error}") from None


def digest(parts: Mapping[str, bytes | memoryview], given_up: GivenUpAsked) -> str:
    """Return 16 hexadecimal digits that identify these contents. Raises `GivenUp` when `given_up` returns true.

    The hash is sha256, since processors have instructions for it: 90 MB in 0.05 s.
    """
    hash_ = hashlib.sha256()
    for name, content in sorted(parts.items()):
        hash_.update(f"{name} {len(content)}\n".encode())
        for at in range(0, len(content), _PIECE):
            hash_.update(content[at : at + _PIECE])
            if given_up():
                raise GivenUp
    return hash_.hexdigest()[:16]


class _TensorEntry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def tensors(
    content: memoryview, place: str, given_up: GivenUpAsked = lambda: False, keep_halves: bool = False
) -> Tensors:
    """Read the tensors of a safetensors file by name, as float32 arrays that cannot be written to.

    `place`: the file's name, for messages. With `keep_halves`, tensors of float16 are views of float16. Raises
    `UsageError`, one line, when it is not such a file, is cut short, or holds floats of an unsupported kind; tensors of
    integers are left out. Raises `GivenUp` when `given_up` returns true.
    """
    size = int.from_bytes(content[:8], "little")
    if size > len(content) - 8:
        raise UsageError(f"{place} is not a safetensors file, or is cut short")
    try:
        table = msgspec.json.decode(content[8 : 8 + size], type=dict[str, msgspec.Raw])
        table.pop("__metadata__", None)
        entries = {name: msgspec.json.decode(entry, type=_TensorEntry) for name, entry in table.items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"{place} is not a safetensors file: its table cannot be read") from None
    tensors_by_name: dict[str, Matrix] = {}
    for name, entry in entries.items():
        if given_up():
            raise GivenUp
        if not entry.dtype.startswith(("I", "U", "BOOL")):
            tensors_by_name[name] = _read_tensor(
                content[8 + size :], entry, f"{name} in {place}", keep_halves
            )
    return tensors_by_name


def _read_tensor(numbers: memoryview, entry: _TensorEntry, name: str, keep_halves: bool) -> Matrix:
    stored = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "F64": "<f8"}.get(entry.dtype)
    if stored is None:
        raise UsageError(f"{name} is of type {entry.dtype}; supported: F32, F16, BF16, F64")
    first, end = entry.data_offsets
    size = math.prod(entry.shape) * np.dtype(stored).itemsize
    if min(entry.shape, default=0) < 0 or not 0 <= first <= end <= len(numbers) or end - first != size:
        raise UsageError(f"{name} does not fit the file: it is cut short or damaged")
    raw = np.frombuffer(numbers[first:end], stored).reshape(entry.shape)
    if entry.dtype == "BF16":  # the upper half of a float32
        wide: Matrix = (raw.astype(np.uint32) << 16).view(np.float32)
    elif raw.flags.aligned and (entry.dtype == "F32" or (keep_halves and entry.dtype == "F16")):
        wide = raw
    else:
        wide = raw.astype(np.float32)
    wide.flags.writeable = False
    return wide
