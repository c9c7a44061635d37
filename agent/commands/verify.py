"""`agent verify`: the number rule for answers and sources of any origin, as a filter of JSON lines.

Strategy: one line in, one line out, flushed at once, so it serves a pipe as well as a file. Only the rule itself is
imported, nothing of the server. The first line that cannot be read ends the run; what came before it is already out.
"""

from pathlib import Path

import msgspec

from ..errors import UsageError
from ..grounding.binding import Binding
from ..grounding.verify import check, snippets_of
from ..ports.search import Snippet
from .lines import read_lines
from .output import OK, REFUSED, write_line


class _Source(msgspec.Struct):
    """A snippet as a line gives it."""

    file: str
    snippet: str


class _Line(msgspec.Struct):
    """One answer and what it has to stand on: `snippets`, or `passages` with a blank line between two."""

    answer: str
    snippets: list[_Source] | None = None
    passages: str | None = None


class _Token(msgspec.Struct):
    """One number of the answer; `supported_by` is the index of the snippet that holds it, counted from 0."""

    text: str
    kind: str
    value: str
    supported_by: int | None


class _Report(msgspec.Struct):
    """What the rule says of one line; `unsupported` are the texts of the numbers that no snippet holds."""

    verdict: str
    tokens: list[_Token]
    unsupported: list[str]


def verify(*files: Path, binding: Binding = "off") -> int:
    """Check the numbers of answers against their sources: JSON lines in and out.

    In, one line per answer (other keys are passed over):
      {"answer": "...", "snippets": [{"file": "...", "snippet": "..."}]}
      {"answer": "...", "passages": "blocks with a blank line between two"}
    Out, in the same order:
      {"verdict": "pass" or "block", "unsupported": ["..."],
       "tokens": [{"text", "kind", "value", "supported_by"}]}

    supported_by: index, from 0, of the snippet or block that holds the number,
    or null. It tells that the number stands there, not that it is said of the
    right thing (--binding strict asks for more, and refuses more good answers).
    unsupported: the numbers that no snippet holds, as written.

    Exit status: 0 all pass, 3 at least one is blocked, 2 a line cannot be read
    (the lines before it are answered).

    Example: agent verify answers.jsonl | grep '"block"'

    Parameters
    ----------
    files
        Files of JSON lines; without any, standard input is read.
    binding
        strict: a number must also share its row, list item or sentence with a
        word that the answer's sentence names it by.
    """
    status = OK
    for place, given in read_lines(files, _Line, _WANTED):
        report = _report(place, given, binding)
        write_line(msgspec.json.encode(report))
        if report.verdict != "pass":
            status = REFUSED
    return status


def _report(place: str, given: _Line, binding: Binding) -> _Report:
    """Return what the rule says of one line; `place` is where it stands."""
    if (given.snippets is None) == (given.passages is None):
        raise UsageError(f"{place}: one of snippets and passages is needed; {_WANTED}")
    if given.snippets is not None:
        snippets = tuple(Snippet(source.file, source.snippet, 1, 1) for source in given.snippets)
    else:
        snippets = snippets_of(given.passages or "")
    verdict = check(given.answer, snippets, binding=binding)
    index = {id(snippet): number for number, snippet in enumerate(snippets)}
    cited = [index[id(snippet)] for snippet in verdict.citations]
    return _Report(
        "pass" if verdict.passed else "block",
        [
            _Token(
                each.text,
                each.kind,
                each.value,
                None if each.supported_by is None else cited[each.supported_by],
            )
            for each in verdict.checks
        ],
        [each.text for each in verdict.unsupported],
    )


_WANTED = 'write {"answer": "...", "snippets": [{"file": "...", "snippet": "..."}]} or "passages": "..." on one line'
