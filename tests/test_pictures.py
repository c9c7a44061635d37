"""The pictures of the README."""

import pytest

from agent import serve

from .pictures import PAGE, ROOT, TURN, draw_turn, record_turn

README = (ROOT / "README.md").read_text("utf-8")


def test_the_readme_shows_them() -> None:
    """Both are there, and small enough to load at once."""
    for picture in (PAGE, TURN):
        assert f"({picture.relative_to(ROOT)})" in README
        assert picture.stat().st_size < 150_000
    assert PAGE.read_bytes().startswith(b"\x89PNG")


@pytest.mark.proof
async def test_the_turn_is_one_that_a_server_has() -> None:
    """The same frames, and the states of the table: `python -m tests.pictures` draws it again."""
    async with serve(kb=ROOT / "kb", port=0) as server:
        assert draw_turn(await record_turn(server.websocket_url)) == TURN.read_text("utf-8")
