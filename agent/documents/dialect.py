"""Roles and directives of reStructuredText that docutils does not know: Sphinx's and those of other tools.

Strategy: the names that a file uses and docutils lacks are registered in docutils' own tables before the file is read.
An unknown role becomes its text; an unknown directive becomes its content, with its argument as a title. Directives
that would read other files or hold data for a machine are registered too, and produce no nodes.
"""

import re
from collections import defaultdict
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

from .tags import split_names

TITLE = "agent-title"
"""The attribute in which a container node carries its title."""

_DIRECTIVE = re.compile(r"\.\. (?:\|[^|\n]{1,100}\| )?([A-Za-z][\w:.+-]{0,60})::(?=\s|$)")
_ROLE = re.compile(r":([A-Za-z][\w:.+-]{0,60}):(?=`)")
_EXPLICIT = re.compile(r"(.*\S)\s*<[^<>]*>", re.DOTALL)
_CODE = split_names(
    "code code-block sourcecode prompt doctest testcode testoutput ipython console mermaid graphviz plantuml uml "
    "productionlist"
)
_NOTHING = split_names(
    "toctree index highlight default-domain currentmodule module py:module automodule autoclass autofunction "
    "automethod autosummary tabularcolumns contents sectionauthor codeauthor literalinclude include raw meta "
    "title bibliography plot video youtube iframe"
)
_NOTES = split_names(
    "seealso versionadded versionchanged versionremoved deprecated todo centered glossary hlist"
)
_NAMES = 1_000  # registered in one process; a file read after that does without further names


class _UnknownDirective(Directive):
    """An unknown directive: its content, with its argument, `title` or `caption` as a title."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    # Accepts any option; docutils requires a mapping that is not empty.
    option_spec: ClassVar[Any] = defaultdict(lambda: directives.unchanged, {"class": directives.unchanged})

    def run(self) -> list[nodes.Node]:
        """Return the nodes that stand for the directive."""
        given = self.arguments[0] if self.arguments else ""
        title = given or self.options.get("title") or self.options.get("caption") or ""
        if self.name.lower() in _CODE:
            text = "\n".join(self.content)
            block = nodes.literal_block(text, text)
            block.line = self.content_offset + 1
            return [block]
        container: nodes.Element = nodes.container()
        if title and self.content:
            inside, _ = self.state.inline_text(title, self.lineno)
            container.attributes[TITLE] = " ".join("".join(node.astext() for node in inside).split())
        elif title:
            inside, _ = self.state.inline_text(title, self.lineno)
            paragraph = nodes.paragraph(title, "", *inside)
            paragraph.line = self.lineno
            container += paragraph
        self.state.nested_parse(self.content, self.content_offset, container)
        return [container]


class _NoteDirective(_UnknownDirective):
    """A directive whose text may begin on its first line, such as `versionadded`."""

    optional_arguments = 0


class _SilentDirective(_UnknownDirective):
    """A directive that holds no text for a reader."""

    def run(self) -> list[nodes.Node]:
        """Return no nodes."""
        return []


def _visible_text(text: str) -> str:
    """Return the visible text of a role: of `title <target>` the title, of `~a.b` "b", of `!a` "a"."""
    explicit = _EXPLICIT.fullmatch(text)
    if explicit:
        return explicit[1]
    return text.rsplit(".", 1)[-1].lstrip("~") if text.startswith("~") else text.removeprefix("!")


def _any_role(*arguments: Any, **options: Any) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return the visible text of an unknown role as an inline node; docutils passes (name, source, text, ...)."""
    role, source, text = arguments[:3]
    label = _visible_text(text.replace("\0", ""))
    numbered = role.lower() in ("pep", "rfc") and label.isdigit()
    return [nodes.inline(source, f"{role.upper()} {label}" if numbered else label)], []


_registered: set[str] = set()


def _register(name: str, directive: type[Directive] | None = None) -> None:
    if directive:
        directives.register_directive(name, directive)
    else:
        roles.register_local_role(name, _any_role)  # type: ignore[arg-type]


for _name in _CODE:
    _register(_name, _UnknownDirective)
for _name in _NOTHING:
    _register(_name, _SilentDirective)
for _name in _NOTES:
    _register(_name, _NoteDirective)
for _name in ("pep", "rfc"):  # docutils' own take a number only
    _register(_name)


def register_names(source: str) -> None:
    """Register the directives and roles that `source` uses and docutils does not know."""
    found = {(name.lower(), "directive") for name in _DIRECTIVE.findall(source)}
    found |= {(name.lower(), "role") for name in _ROLE.findall(source)}
    for name, what in sorted(found):
        if f"{what} {name}" in _registered or len(_registered) >= _NAMES:
            continue
        _registered.add(f"{what} {name}")
        if what == "role" and name not in en.roles:
            _register(name)
        elif what == "directive" and name not in en.directives and name not in _CODE | _NOTHING | _NOTES:
            _register(name, _UnknownDirective)
