"""An answer is of one state of the folder, and it is known which."""

from pathlib import Path

from agent.soak.pages import NAMES, REMEMBERED, Pages, are_cited, make_texts


def cited(generation: int, *names: str) -> list[dict[str, str]]:
    """Return citations as they stand in some files of a generation."""
    held = make_texts(generation)
    return [{"file": f"kb/{name}", "snippet": held[name].strip()} for name in names]


def pages(folder: Path, rewritten: int = 0) -> tuple[Pages, list[float]]:
    """Return a folder that was rewritten at 1, 2, 3 ... s, and its clock."""
    clock = [0.0]
    made = Pages(folder, lambda: clock[0])
    for _ in range(rewritten):
        clock[0] += 1
        made.rewrite()
    return made, clock


def test_the_folder_is_always_in_one_known_state(tmp_path: Path) -> None:
    """Each generation changes one file, and no two that are remembered are the same."""
    made, _ = pages(tmp_path)
    states: list[dict[str, str]] = []
    for generation in range(REMEMBERED + 1):
        found = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
        assert found == make_texts(generation)
        if states:
            assert sum(found[name] != states[-1][name] for name in NAMES) == 1
        states.append(found)
        made.rewrite()
    for name in NAMES:
        assert len({state[name] for state in states[:REMEMBERED]}) >= REMEMBERED // len(NAMES)
    assert len({tuple(sorted(state.items())) for state in states[:REMEMBERED]}) == REMEMBERED


def test_how_far_an_answer_was_behind(tmp_path: Path) -> None:
    """0 for what was there when it was asked, or came later; else since when it was no more."""
    made, _ = pages(tmp_path, 6)
    assert made.measure_staleness(cited(6, *NAMES), asked_at=6.5) == 0.0
    assert made.measure_staleness(cited(6, *NAMES), asked_at=1.0) == 0.0
    assert made.measure_staleness(cited(5, *NAMES), asked_at=6.5) == 0.5
    assert made.measure_staleness(cited(3, *NAMES), asked_at=6.5) == 2.5
    assert (
        made.measure_staleness(cited(3, NAMES[0]), asked_at=6.5) == 0.5
    )  # which is still there in generation 5
    assert made.measure_staleness([], asked_at=6.5) == 0.0


def test_a_torn_snapshot_is_found_out(tmp_path: Path) -> None:
    """Two files as they never stood together, a file that was never there, a text that was never written."""
    made, _ = pages(tmp_path, 9)
    new, old = NAMES[9 % 3], NAMES[8 % 3]
    assert made.measure_staleness([*cited(9, new), *cited(5, old)], asked_at=9.0) is None
    assert made.measure_staleness([*cited(9, new), *cited(8, old)], asked_at=9.0) == 0.0
    assert made.measure_staleness([{"file": "kb/other.md", "snippet": "x"}], asked_at=9.0) is None
    assert made.measure_staleness([{"file": f"kb/{new}", "snippet": "never"}], asked_at=9.0) is None
    assert not are_cited([{"file": f"kb/{old}", "snippet": make_texts(9)[new]}], make_texts(9))


def test_a_row_stands_under_the_header_that_is_cited_with_it() -> None:
    """Both must be there; the line of dashes between them is not cited."""
    held = make_texts(9)
    header, _, row = held["pricing.md"].split("\n")[2:5]
    assert are_cited([{"file": "kb/pricing.md", "snippet": f"{header}\n{row}"}], held)
    assert not are_cited([{"file": "kb/pricing.md", "snippet": f"{header}\n{row}"}], make_texts(12))
    assert not are_cited([{"file": "kb/pricing.md", "snippet": f"| Plan | Price |\n{row}"}], held)
