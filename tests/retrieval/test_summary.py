"""What was read and what was passed over: told in a line or two, by the check and at the start."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from agent.ports.work import RunSync
from agent.retrieval.check import check_knowledge
from agent.retrieval.live_knowledge import LiveKnowledge
from agent.retrieval.load import FILE_BYTES, Skipped
from agent.retrieval.summary import ReadingSummary, summarize

READ = (
    "read: 1 file, 1 section, 6 statements (2 of paragraphs, 1 items, 1 rows, 1 of code, 1 of quotes)",
    "left out: 5 files: is not UTF-8 (2), has nothing in it that can be cited (1), is a symbolic link (1), "
    f"is larger than {FILE_BYTES} bytes (1)",
    "left out: 5 files of kinds that are not read: 2 .png, 2 without a suffix, 1 .json",
)

DOCUMENT = """# A

One paragraph. Of two sentences.

- one item

| a | b |
| --- | --- |
| 1 | 2 |

```
code
```

> a quote
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a document of every kind of statement, and much that is passed over."""
    for name, data in {
        "a.md": DOCUMENT.encode(),
        "empty.md": b"<!-- nothing -->",
        "one.txt": b"abc\xff",
        "two.txt": b"a\xff",
        "large.md": b"x" * (FILE_BYTES + 1),
        "logo.png": b"",
        "images/photo.PNG": b"",
        "data.json": b"{}",
        "LICENSE": b"",
        "Read. This first, please": b"",
        "synonyms.txt": b"one other",
        ".hidden": b"",
        ".git/config.json": b"",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "link.md").symlink_to("a.md")
    return tmp_path


async def test_what_is_passed_over_is_named(folder: Path, inline: RunSync) -> None:
    """The check and the start of a server say the same; the operator's settings and hidden files do not count."""
    assert check_knowledge(folder).read.to_lines() == READ
    with capture_logs() as entries:
        await LiveKnowledge.open(folder, inline)
    assert [(entry["log_level"], entry["event"], entry["what"]) for entry in entries] == [
        ("info", "knowledge base", "; ".join(READ))
    ]


def test_a_folder_that_is_read_whole_has_one_line() -> None:
    """What is not there is not told."""
    told = ReadingSummary(1, 1, {"row": 1000}, {}, {}).to_lines()
    assert told == (
        "read: 1 file, 1 section, 1,000 statements "
        "(0 of paragraphs, 0 items, 1,000 rows, 0 of code, 0 of quotes)",
    )


def test_many_kinds_are_told_shortly() -> None:
    """Eight of them one by one, the most frequent first."""
    others = {f".{name}": 1 for name in "abcdefghi"} | {".z": 1200}
    assert (
        summarize((), (), others)
        .to_lines()[1]
        .endswith(
            "1,209 files of kinds that are not read: "
            "1,200 .z, 1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 1 .f, 1 .g, 2 others"
        )
    )


def test_reasons_are_told_without_what_differs_from_file_to_file() -> None:
    """So that a thousand broken files are one reason."""
    reasons = ["is not UTF-8 (byte 1)", "cannot be read: disk quota", "has more than 9 lines; split it"]
    skipped = [Skipped(f"kb/{at}", reason) for at, reason in enumerate([*reasons, "is not UTF-8 (byte 2)"])]
    assert summarize((), skipped, {}).left_out == {
        "is not UTF-8": 2,
        "cannot be read": 1,
        "has more than 9 lines": 1,
    }
