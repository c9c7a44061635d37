"""Cases: questions with the places and words of their right answers, each a JSON object on a line.

    {"id": "7", "question": "What does Basic cost?", "lang": "en", "kind": "number", "file": "prices.md",
     "lines": [3, 4], "answer": ["49 kr"], "also": [{"file": "faq.md", "lines": [9, 9]}]}

`answer` lists texts of which a right answer holds one. `file` and `lines` say where it stands, `also` where else;
without a file any citation is right, and without lines any in the file. A case of the kind `off` has no answer in the
documents, and is right when it is refused. Other fields are notes, and are ignored.
"""

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from ..config import MAX_TEXT
from ..lang import Lang
from ..ports.feedback import Feedback
from ..ports.remember import MEMORY_FILES
from ..text.language import detect_language

OFF: Final = "off"
_HOUSE_FILES: Final = "kb/"  # the prefix of files of the operator's documents in citations
_ANSWERS: Final = 100

_Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]


class CasePlace(msgspec.Struct, frozen=True):
    """The lines of a file that hold an answer, counted from 1; without `lines`, any of them."""

    file: Annotated[str, Meta(max_length=MAX_TEXT)] = ""
    lines: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Raise `ValueError` for lines that no file has."""
        if self.lines is not None and not 1 <= self.lines[0] <= self.lines[1]:
            raise ValueError("lines must be the first and the last line, counted from 1")


class Case(CasePlace, frozen=True, kw_only=True):
    """A question with the words and places of its right answer."""

    question: _Text
    id: Annotated[str, Meta(max_length=MAX_TEXT)] = ""
    lang: Lang | None = None
    kind: Annotated[str, Meta(max_length=MAX_TEXT)] = "fact"
    answer: Annotated[tuple[_Text, ...], Meta(max_length=_ANSWERS)] = ()
    also: Annotated[tuple[CasePlace, ...], Meta(max_length=_ANSWERS)] = ()

    @property
    def is_off(self) -> bool:
        """Whether the documents hold no answer."""
        return self.kind == OFF

    @property
    def is_complete(self) -> bool:
        """Whether the case has an `answer`, or is of the kind `off`."""
        return self.is_off or any(each.strip() for each in self.answer)

    @property
    def places(self) -> tuple[CasePlace, ...]:
        """The places that hold its answer; none where no file is named."""
        return tuple(each for each in (self, *self.also) if each.file)


def make_case(feedback: Feedback) -> dict[str, Any]:
    """Return feedback as a case without an `answer`, which the owner of the documents is to write.

    The places of an answer that was good are its citations. Those of a bad one may be wrong, so they stand in `cited`,
    as a note.
    """
    cited = [
        {"file": file.removeprefix(_HOUSE_FILES), "lines": list(lines) if lines else None}
        for file, lines in ((str(each.get("file", "")), each.get("lines")) for each in feedback.citations)
        if not file.startswith(MEMORY_FILES)
    ]
    good = cited if feedback.verdict == "up" else []
    first: dict[str, Any] = good[0] if good else {"file": "", "lines": None}
    return {
        "id": str(feedback.number),
        "question": feedback.question,
        "lang": detect_language(feedback.question),
        "kind": "fact",
        **first,
        "answer": [],
        "also": good[1:],
        "verdict": feedback.verdict,
        "text": feedback.text,
        "said": feedback.answer,
        "cited": cited,
        "model": feedback.model,
    }
