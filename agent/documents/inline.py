"""Removes the marks inside a line of markdown: emphasis, links, images, code marks and entities become plain text.

Strategy: markdown-it's inline rules, of which those that read HTML are off (tags are gone by then) and the text rule
stops only where another rule can begin. Text without any mark takes no parser at all. A long text is read in pieces,
and a text with extremely nested brackets is read without links, so that the time stays linear in the length.
"""

import re
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline, autolink, backtick, image, link
from markdown_it.token import Token

from .step_counter import StepCounter

_MARKS = re.compile(r"[\\`*_~\[&<]")
# A `_` between letters or digits is no mark.
_REAL_MARKS = re.compile(r"[\\`*~\[&<_](?:(?<!_)|(?<![^\W_]_)|(?![^\W_]))")
_STOPS = re.compile(r"[\n\\`*_~\[\]&<!]")
# Nearly all marks. The parser, which knows the rest, takes several times as long. Every branch begins with
# a character of its own, which makes the search fast.
_CODE_OR_LINK = re.compile(r"`([^`\n]+)`(?!`)|\[(?<!!\[)([^\[\]!<&`\\\n]*)\]\([^()\s<>`\\]*\)")
_EMPHASIS = re.compile(
    r"\*\*(?=[^\s*])([^*\n]*[^\s*])\*\*(?!\*)|\*(?<!\*\*)(?=[^\s*])([^*\n]*[^\s*])\*(?!\*)"
    r"|_(?<![\w\\]_)(?=[^\s_])([^_\n]*[^\s_])_(?!\w)"
)
_PIECE = 8_192  # characters
_NESTED = 16  # brackets in brackets

Rule = Callable[[StateInline, bool], bool]


class _InlineParser(MarkdownIt):
    """Leaves addresses as they are, since they are not shown."""

    def normalizeLink(self, url: str) -> str:
        return url

    def normalizeLinkText(self, link: str) -> str:
        return link

    def validateLink(self, url: str) -> bool:
        return True


def _text(state: StateInline, silent: bool) -> bool:
    """Match text without marks, up to the next place where another rule can begin."""
    stop = _STOPS.search(state.src, state.pos, state.posMax)
    end = stop.start() if stop else state.posMax
    if end == state.pos:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _with_break_counts(rule: Rule) -> Rule:
    """Wrap `rule` to record on its last token the number of line breaks before its end, if it consumed any."""

    def apply_rule(state: StateInline, silent: bool) -> bool:
        begin = state.pos
        matched = rule(state, silent)
        if matched and not silent and state.src.find("\n", begin, state.pos) >= 0:
            state.tokens[-1].meta["line"] = state.src.count("\n", 0, state.pos)
        return matched

    return apply_rule


def _parser(*without: str) -> MarkdownIt:
    parser = _InlineParser("commonmark").enable("strikethrough").disable(["html_inline", *without])
    ruler = parser.inline.ruler
    ruler.at("text", _text)
    rules: dict[str, Rule] = {"link": link, "image": image, "autolink": autolink, "backticks": backtick}
    for name, rule in rules.items():
        if name not in without:
            ruler.at(name, _with_break_counts(rule))
    return parser


_ALL = _parser()
_NO_LINKS = _parser("link", "image")


class Inline:
    """The reader of one document's inline markup."""

    def __init__(self, labels: Sequence[str], step_counter: StepCounter) -> None:
        """Prepare for a document; `labels` are those of all its link definitions, as in `[label]: address`."""
        self._env = {
            "references": {normalizeReference(label): {"href": "#", "title": ""} for label in labels}
        }
        self._step_counter = step_counter

    def lines(self, content: str) -> list[str]:
        """Return the plain text of each line of a paragraph."""
        if not _MARKS.search(content):
            return content.split("\n")
        if len(content) <= _PIECE and "\\" not in content:
            simple = _EMPHASIS.sub(r"\1\2\3", _CODE_OR_LINK.sub(r"\1\2", content))
            if not _REAL_MARKS.search(simple):
                return simple.split("\n")
        if len(content) <= _PIECE:
            return self._parse(content)
        lines = [""]
        for piece in _pieces(content):
            self._step_counter.check()
            first, *more = self._parse(piece) if _MARKS.search(piece) else piece.split("\n")
            lines[-1] += first
            lines += more
        return lines

    def plain(self, content: str) -> str:
        """Return the plain text of `content`, which stands on one line."""
        return " ".join(self.lines(content)) if _MARKS.search(content) else content

    def _parse(self, content: str) -> list[str]:
        self._step_counter.count_step()
        parser = _NO_LINKS if content.count("[") > _NESTED and _too_deep(content) else _ALL
        tokens: list[Token] = []
        parser.inline.parse(content, parser, self._env, tokens)
        lines: list[list[str]] = [[]]
        for token in tokens:
            match token.type:
                case "text" | "text_special" | "code_inline":
                    lines[-1].append(token.content)
                case "softbreak" | "hardbreak":
                    lines.append([])
            if token.meta:
                lines += ([] for _ in range(token.meta.get("line", 0) + 1 - len(lines)))
        lines += ([] for _ in range(content.count("\n") + 1 - len(lines)))
        return ["".join(line) for line in lines]


def _too_deep(content: str) -> bool:
    depth = 0
    for mark in re.findall(r"[\[\]]", content):
        depth = depth + 1 if mark == "[" else max(0, depth - 1)
        if depth > _NESTED:
            return True
    return False


def _pieces(content: str) -> list[str]:
    """Cut a long text into pieces that end at a line break, else at a space, else anywhere."""
    pieces: list[str] = []
    at = 0
    while at < len(content):
        end = at + _PIECE
        if end < len(content):
            least = at + _PIECE // 2
            cut = content.rfind("\n", least, end)
            cut = cut if cut >= 0 else content.rfind(" ", least, end)
            end = cut + 1 if cut >= 0 else end
        pieces.append(content[at:end])
        at = end
    return pieces
