"""`agent verify`: applies the number rule to answers and sources of any origin, as a filter of JSON lines.

Strategy: one line in, one line out, flushed at once, so it serves a pipe as well as a file. Only the rule itself is
imported, nothing of the server. The first line that cannot be read ends the run; the lines before it are already
answered.
"""

from pathlib import Path

import msgspec

from ..errors import UsageError
from ..grounding.binding import Binding
from ..grounding.verify import check_numbers, snippets_of
from ..ports.search import Snippet
from .lines import read_lines
from .output import OK, REFUSED, write_line


class _GivenSnippet(msgspec.Struct):
    """A snippet of a line."""

    file: str
    snippet: str


class _AnswerLine(msgspec.Struct):
    """One answer and its sources: `snippets`, or `passages` with a blank line between two."""

    answer: str
    snippets: list[_GivenSnippet] | None = None
    passages: str | None = None


class _CheckedNumber(msgspec.Struct):
    """One number of the answer. `supported_by`: the index, from 0, of the snippet that holds it, or `None`."""

    text: str
    kind: str
    value: str
    supported_by: int | None


class _VerdictLine(msgspec.Struct):
    """The verdict on one line. `unsupported`: the texts of the numbers that no snippet holds."""

    verdict: str
    tokens: list[_CheckedNumber]
    unsupported: list[str]


def verify(*files: Path, binding: Binding = "off") -> int:
    """Check the numbers of answers against their sources: JSON lines in and out.

    In, one line per answer (other keys are passed over):
      {"answer": "...", "snippets": [{"file": "...", "snippet": "..."}]}
      {"answer": "...", "passages": "blocks with a blank line between two"}
    Out, in the same order:
      {"verdict": "pass" or "block", "unsupported": ["..."],
       "tokens": [{"text", "kind", "value", "supported_by"}]}

    `supported_by`: index, from 0, of the snippet or block that holds the number,
    or `null`. It tells that the number stands there, not that it is said of the
    right thing (`--binding strict` asks for more, and refuses more good answers).
    `unsupported`: the numbers that no snippet holds, as written.

    Exit status: 0 all pass, 3 at least one is blocked, 2 a line cannot be read
    (the lines before it are answered).

    Example: agent verify answers.jsonl | grep '"block"'

    Parameters
    ----------
    files
        Files of JSON lines; without any, standard input is read.
    binding
        `strict`: a number must also share its row, list item or sentence with a
        word that the answer's sentence names it by.
    """
    status = OK
    for place, given in read_lines(files, _AnswerLine, _WANTED):
        report = _check_line(place, given, binding)
        write_line(msgspec.json.encode(report))
        if report.verdict != "pass":
            status = REFUSED
    return status


def _check_line(place: str, given: _AnswerLine, binding: Binding) -> _VerdictLine:
    """Return the verdict on the line at `place`. Raises `UsageError` unless it has exactly one kind of sources."""
    if (given.snippets is None) == (given.passages is None):
        raise UsageError(f"{place}: one of snippets and passages is needed; {_WANTED}")
    if given.snippets is not None:
        snippets = tuple(
            Snippet(file=source.file, text=source.snippet, first=1, last=1) for source in given.snippets
        )
    else:
        snippets = snippets_of(given.passages or "")
    verdict = check_numbers(given.answer, snippets, binding=binding)
    index = {id(snippet): number for number, snippet in enumerate(snippets)}
    cited = [index[id(snippet)] for snippet in verdict.citations]
    return _VerdictLine(
        "pass" if verdict.is_supported else "block",
        [
            _CheckedNumber(
                each.text,
                each.kind,
                each.value,
                None if each.supported_by is None else cited[each.supported_by],
            )
            for each in verdict.checks
        ],
        [each.text for each in verdict.unsupported_checks],
    )


_WANTED = 'write {"answer": "...", "snippets": [{"file": "...", "snippet": "..."}]} or "passages": "..." on one line'
