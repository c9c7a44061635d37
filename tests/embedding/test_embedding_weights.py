"""Weights are read as their library writes them, and nothing that does not fit is believed."""

import json
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save, save_file

from agent.embedding.weights import Archive, Files, Folder, digest, tensors
from agent.errors import GivenUp, UsageError

NUMBERS = np.array([[1.5, -2.0, 0.25], [65504.0, 1e-4, 0.0]])


def never() -> bool:
    return False


def read(content: bytes) -> Mapping[str, Any]:
    return tensors(memoryview(content), "some.safetensors")


def written(table: Mapping[str, Any], numbers: bytes) -> bytes:
    head = json.dumps(table).encode()
    return len(head).to_bytes(8, "little") + head + numbers


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_floats_are_read_as_the_library_writes_them(kind: type) -> None:
    """Whatever their width, they come back as float32, with their sizes, and cannot be written to."""
    content = save({"a": NUMBERS.astype(kind), "b": np.arange(3), "c": np.zeros((0, 4), kind)})
    found = read(content)
    assert set(found) == {"a", "c"}
    assert found["a"].dtype == np.float32
    assert np.array_equal(found["a"], NUMBERS.astype(kind).astype(np.float32))
    assert found["c"].shape == (0, 4)
    assert not found["a"].flags.writeable


def test_halves_that_are_kept_are_a_view() -> None:
    """They take no memory beside the file; other floats are read as ever."""
    content = memoryview(save({"a": NUMBERS.astype(np.float16), "b": NUMBERS.astype(np.float64)}))
    found = tensors(content, "some.safetensors", keep_halves=True)
    assert np.shares_memory(found["a"], np.frombuffer(content, np.uint8))
    assert np.array_equal(found["a"].astype(np.float32), read(bytes(content))["a"])
    assert found["b"].dtype == np.float32


def test_bfloat16_is_the_upper_half_of_a_float32() -> None:
    """The library needs torch for these."""
    numbers = np.array([1.0, -2.0, 3.0e38, 0.15625], np.float32)
    halves = (numbers.view(np.uint32) >> 16).astype("<u2")
    table = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
    }
    assert np.allclose(read(written(table, halves.tobytes()))["a"], numbers.reshape(2, 2), rtol=0.01)


def test_a_table_at_an_odd_place_is_read_too() -> None:
    """Its header may have any length, so that numbers do not stand where a processor likes them."""
    table = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]}}
    numbers = b"x" + np.array([1.0, 2.0], "<f4").tobytes()
    found = read(written(table, numbers))["a"]
    assert found.tolist() == [1.0, 2.0]
    assert found.flags.aligned


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}, "does not fit"),
        ({"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}, "does not fit"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}, "does not fit"),
        ({"dtype": "F32", "shape": [-1, -2], "data_offsets": [0, 8]}, "does not fit"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}, "does not fit"),
        ({"dtype": "F8_E4M3", "shape": [8], "data_offsets": [0, 8]}, "F8_E4M3"),
        ({"dtype": "F32", "shape": [2]}, "cannot be read"),
        ({"dtype": "F32", "shape": "2", "data_offsets": [0, 8]}, "cannot be read"),
    ],
)
def test_an_entry_that_does_not_fit_the_file_is_refused(entry: Mapping[str, Any], says: str) -> None:
    """Sizes and places are checked before a number is read."""
    said = ""
    try:
        read(written({"a": entry}, bytes(8)))
    except (UsageError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
    assert said.startswith("UsageError: ")
    assert says in said


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda tail: written({}, b"")[:-1] + tail))
def test_bytes_of_any_kind_are_tensors_or_an_error_for_the_operator(content: bytes) -> None:
    """Nothing but the one error comes of a file that is none."""
    with suppress(UsageError):
        read(content)


def test_a_file_that_was_cut_short_is_refused_wherever_it_was_cut() -> None:
    """A download that stopped is told from a whole file."""
    content = save({"a": np.ones(3, np.float32)})
    for length in range(len(content)):
        said = "or is cut short" if length < len(content) - 12 else "cut short"
        with pytest.raises(UsageError, match=rf"some\.safetensors.*{said}"):
            read(content[:length])


@pytest.fixture(params=["folder", "archive"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """A place with three files: small, empty and large."""
    contents = {"config.json": b"{}", "1_Pooling/config.json": b"[]", "large": b"0123456789" * 300_000}
    if request.param == "folder":
        for name, content in contents.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        return Folder(tmp_path)
    with zipfile.ZipFile(tmp_path / "model.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return Archive(tmp_path / "model.zip")


def test_a_folder_and_an_archive_give_the_same(files: Files) -> None:
    """Small files as bytes, large ones as a view, and None or an error for what is not there."""
    assert files.read_bytes("config.json") == b"{}"
    assert files.read_bytes("1_Pooling/config.json") == b"[]"
    assert files.read_bytes("2_Dense/config.json") is None
    assert files.read_bytes("config.json/x") is None
    assert bytes(files.view("large", never)) == b"0123456789" * 300_000
    assert files.view("large", never).readonly
    with pytest.raises(UsageError, match="missing"):
        files.view("model.safetensors", never)


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (Archive, lambda files: files.read_bytes("config.json")),
        (Archive, lambda files: files.view("config.json", never)),
        (Folder, lambda files: files.read_bytes("folder")),
        (Folder, lambda files: files.view("empty", never)),
        (Folder, lambda files: files.view("folder", never)),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(
    tmp_path: Path, make: Callable[[Path], Files], use: Callable[[Files], object]
) -> None:
    """A damaged archive, a folder in a file's place and an empty file are the operator's to mend."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "model.zip").write_bytes(b"PK no archive")
    with pytest.raises(UsageError, match="cannot read") as said:
        use(make(tmp_path / "model.zip" if make is Archive else tmp_path))
    assert str(tmp_path) in str(said.value)


def test_unpacking_and_digesting_stop_when_nobody_waits(tmp_path: Path) -> None:
    """A megabyte is the most that is done after somebody gave up."""
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("large", bytes(3 << 20))
    with pytest.raises(GivenUp):
        Archive(tmp_path / "model.zip").view("large", lambda: True)
    with pytest.raises(GivenUp):
        digest({"large": bytes(3 << 20)}, lambda: True)
    content = save({"a": np.ones(3, np.float32)})
    with pytest.raises(GivenUp):
        tensors(memoryview(content), "some.safetensors", lambda: True)


def test_a_digest_tells_contents_and_their_names_apart() -> None:
    """Other weights have another name, and so do the same bytes divided otherwise."""
    made = [
        digest(parts, never)
        for parts in ({"a": b"12", "b": b"3"}, {"a": b"1", "b": b"23"}, {"b": b"12", "a": b"3"}, {"a": b"12"})
    ]
    assert len(set(made)) == 4
    assert digest({"b": b"3", "a": b"12"}, never) == made[0]


def test_weights_in_a_folder_are_not_copied(tmp_path: Path) -> None:
    """A tensor of float32 is the mapped file itself: what several processes read is in memory once."""
    save_file({"a": np.ones((4, 4), np.float32)}, tmp_path / "model.safetensors")
    content = Folder(tmp_path).view("model.safetensors", never)
    found = tensors(content, "model.safetensors")["a"]
    assert np.shares_memory(found, np.frombuffer(content, np.uint8))
