"""Keys become lines, and one row shows the part of a line that the cursor is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.client.editor import HISTORY_LINES, PROMPT, LineEditor, count_columns
from agent.config import MAX_TEXT


def typed(*keys: str, history: tuple[str, ...] = ()) -> LineEditor:
    editor = LineEditor(history)
    for key in keys:
        editor.feed(key.encode())
    return editor


@pytest.mark.parametrize(
    ("keys", "text", "at"),
    [
        (("ab", "\x1b[D", "X"), "aXb", 2),
        (("ab", "\x01", "X", "\x05", "Y"), "XabY", 4),
        (("ab", "\x1b[H", "\x1b[C", "\x1b[3~"), "a", 1),
        (("abc", "\x7f", "\x08"), "a", 1),
        (("one two three", "\x17"), "one two ", 8),
        (("one two", "\x1bb", "\x0b"), "one ", 4),
        (("one two", "\x1b[1;5D", "\x15"), "two", 0),
        (("one two", "\x01", "\x1bf", "!"), "one! two", 4),
        (("åäö", "\x02", "\x04"), "åä", 2),
        (("\x1b[D\x1b[C\x01\x02\x7f\x17\x0b\x15",), "", 0),
        (("a\tb\x00\x1f\x9b\u202ec",), "abc", 3),
        (("a\x1b[99;99Zb\x1bZc\x1b[?25h",), "abc", 3),
        (("\x1b[200~one\ntwo\r\tx\x01\x1b[201~y",), "one two  x y", 12),
    ],
)
def test_keys_edit_the_line(keys: tuple[str, ...], text: str, at: int) -> None:
    """Those of readline and of terminals; what is none of them does nothing, and a paste is one line."""
    editor = typed(*keys)
    assert (editor.text, editor.at) == (text, at)


def test_a_key_may_come_in_pieces() -> None:
    """A letter of several bytes, and an escape sequence; an end that never comes holds up nothing for long."""
    editor = LineEditor()
    for byte in "aåb\x1b[DX€".encode():
        editor.feed(bytes([byte]))
    assert editor.text == "aåX€b"
    editor.feed(b"\x1b[" + b"1" * 100 + b"\r")
    assert editor.feed(b"\r") == [""]


def test_lines_are_finished_by_enter() -> None:
    """Several at once too, and what follows them stays."""
    editor = LineEditor()
    assert editor.feed(b"one\rtwo\nthr") == ["one", "two"]
    assert editor.text == "thr"
    assert not editor.ended
    editor.feed(b"\x15\x04")
    assert editor.ended


def test_the_lines_before_are_a_key_away() -> None:
    """And the one that was being typed is at the end of them; the same one twice is remembered once."""
    editor = typed("new", "\x1b[A", history=("a", "b"))
    assert editor.text == "b"
    assert [
        typed("new", *keys, history=("a", "b")).text for keys in (["\x1b[A"] * 5, ["\x10", "\x0e", "\x0e"])
    ] == [
        "a",
        "new",
    ]
    editor.feed(b"\rb\r \rc\r")
    assert editor.history == ["a", "b", "c"]
    assert len(LineEditor([str(number) for number in range(HISTORY_LINES + 9)]).history) == HISTORY_LINES


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*LineEditor._KEYS, "\r", "\x1b", "[", "日本", "e\u0301"]), st.text(max_size=5)
        )
    )
)
def test_whatever_is_typed_the_row_shows_where_the_cursor_is(keys: list[str]) -> None:
    """Within its width, with nothing in it that steers."""
    editor = typed(*[key.encode("utf-8", "replace").decode() for key in keys])
    assert 0 <= editor.at <= len(editor.text) <= MAX_TEXT
    assert editor.text.isprintable()
    for width in (8, 20, 200):
        row, cursor = editor.visible_row(width)
        assert row.startswith(PROMPT)
        assert len(PROMPT) <= cursor <= count_columns(row) < width
        assert row[len(PROMPT) :] in editor.text


def test_a_line_has_a_bound() -> None:
    """That of a message."""
    assert len(typed("x" * (MAX_TEXT + 50)).text) == MAX_TEXT
