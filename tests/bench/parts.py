"""How many instructions the parts of a turn need: `python -m tests.bench.parts [PART ...]`.

The turns are those of `tests.bench.instructions`: a whole server and its clients in one process, without vectors or
kept hits, answered by the mock. Of each turn only the instructions within one part are counted, so that caches are as
warm as in a running server.

    verify   every verdict: of the answer, and of the rows that the mock words; with the numbers of the snippets
    search   the search of the documents' index, without the question's vector
    message  every reading of the user's words: courtesies, language, actions, items to remember
    draft    the mock's choice of quotes and its text, without the verdicts in it

Each part is counted in a process of its own, which takes half a minute of one core. All are thousands of instructions
a turn, the median of the rounds. Where valgrind is not installed, a line says so.
"""

import sys
import threading
from collections.abc import Callable, Generator
from functools import reduce, wraps
from importlib import import_module
from inspect import isgeneratorfunction
from typing import Any, Final

from . import counted
from .instructions import count
from .load.counters import why_no_callgrind

FIGURES: Final = ("turn", "different", "remembered", "chat")
_GATE: Final = "PyEval_EvalCode"
"""The C function in which callgrind counts, and in a call of it from within itself does not. Only `exec` and imports
call it, and a server that has started does neither."""

_VERDICTS: Final = (
    "agent.answering.brain:read_ahead",
    "agent.answering.draft_ways:verify",
    "agent.answering.draft_ways:verify_in_steps",
    "agent.llm.mock:verify",
    "agent.llm.table_rows:check_numbers",
)
_READINGS: Final = (
    "agent.answering.brain:asks_besides",
    "agent.answering.brain:find_courtesy",
    "agent.answering.brain:remove_requests",
    "agent.answering.brain:strip_courtesies",
    "agent.answering.filling_brain:detect_language",
    "agent.answering.filling_brain:only_completes",
    "agent.answering.filling_brain:read_wishes",
    "agent.compose.memory:read_items",
    "agent.intents.user_message:detect_language",
    "agent.intents.user_message:find_courtesy",
    "agent.intents.user_message:propose_actions",
    "agent.intents.user_message:remove_requests",
    "agent.intents.user_message:strip_courtesies",
    "agent.memory.recollection:find_notice",
    "agent.memory.recollection:is_only_orders",
    "agent.memory.recollection:is_only_statements",
)
PARTS: Final = {
    "search": (("agent.retrieval.search:KnowledgeBase.find_hits",), ()),
    "verify": (_VERDICTS, ()),
    "message": (_READINGS, ()),
    "draft": (("agent.llm.mock:_choose_supported", "agent.llm.mock:compose_answer"), _VERDICTS),
}
"""The functions and methods of each part, by the module that calls them, and those in them that are no part of it."""


class Gate:
    """Whether callgrind counts now, in this thread."""

    def __init__(self) -> None:
        self._here = threading.local()

    @property
    def is_open(self) -> bool:
        """Whether instructions are counted now."""
        return bool(getattr(self._here, "is_open", False))

    def replace(self, place: str, opens: bool) -> None:
        """Count within the function at `place` when it `opens` the gate; else stop counting there."""
        module_name, _, path = place.partition(":")
        *classes, name = path.split(".")
        owner = reduce(getattr, classes, import_module(module_name))
        setattr(owner, name, self._gated(getattr(owner, name), opens))

    def _gated(self, function: Callable[..., Any], opens: bool) -> Callable[..., Any]:
        if isgeneratorfunction(function):

            @wraps(function)
            def steps(*args: Any, **kwargs: Any) -> Generator[Any, None, Any]:
                work = function(*args, **kwargs)
                while True:
                    try:
                        step = self._pass(opens, next, work)
                    except StopIteration as end:
                        return end.value
                    yield step

            return steps

        @wraps(function)
        def once(*args: Any, **kwargs: Any) -> Any:
            return self._pass(opens, function, *args, **kwargs)

        return once

    def _pass(self, opens: bool, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self.is_open is opens:
            return function(*args, **kwargs)
        names = {"function": function, "args": args, "kwargs": kwargs}
        self._here.is_open = opens
        try:
            exec(_CALL, names)
        finally:
            self._here.is_open = not opens
        return names["result"]


_CALL: Final = compile("result = function(*args, **kwargs)", "gate", "exec")


def main(arguments: list[str]) -> int:
    """Count the parts that are named, all where none is; or do the work of one, `--work PART`."""
    if arguments[:1] == ["--work"]:
        opening, closing = PARTS[arguments[1]]
        gate = Gate()
        for places, opens in ((opening, True), (closing, False)):
            for place in places:
                gate.replace(place, opens)
        counted.run()
        return 0
    if reason := why_no_callgrind():
        sys.stdout.write(f"instructions are not counted: {reason}\n")
        return 0
    sys.stdout.write(f"thousands of instructions a turn {''.join(f'{name:>12}' for name in FIGURES)}\n")
    for part in arguments or PARTS:
        found = count(("tests.bench.parts", "--work", part), (f"--toggle-collect={_GATE}",))
        sys.stdout.write(f"{part:32} {''.join(f'{found[name]:12.1f}' for name in FIGURES)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
