"""Rules of the house that are read off the source: who may construct, ask, catch and import what."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from agent.diagrams import PACKAGE, parse_modules
from agent.ports.brain import UnvouchedText
from agent.protocol.kinds import KINDS

from . import words

MODULES = parse_modules(PACKAGE)


@cache
def walked() -> dict[type[ast.AST], list[tuple[str, ast.AST]]]:
    """Every node of the package by its class, with its module: in half the time that `ast.walk` takes."""
    found: dict[type[ast.AST], list[tuple[str, ast.AST]]] = defaultdict(list)
    for name, tree in MODULES.items():
        remaining: list[ast.AST] = [tree]
        while remaining:
            node = remaining.pop()
            found[type(node)].append((name, node))
            for value in vars(node).values():
                if isinstance(value, list):
                    remaining += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST):
                    remaining.append(value)
    return found


def nodes(kind: type[ast.AST], under: str = "") -> Iterator[tuple[str, ast.AST]]:
    for each, found in walked().items():
        if issubclass(each, kind):
            yield from (item for item in found if item[0].startswith(under))


def called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def test_only_grounding_constructs_verified_text() -> None:
    """What a session may send is made by the verifier and the fixed texts, nowhere else, and never by replace()."""
    makers = {name for name, node in nodes(ast.Call) if called(node) == "VerifiedText"}
    assert makers == {
        "grounding/verify.py",
        "grounding/refusals.py",
        "grounding/courtesies.py",
        "grounding/questions.py",
    }
    copies = {name for name, node in nodes(ast.Call) if called(node) in ("replace", "__replace__", "new")}
    assert not {name for name in copies if name.startswith(("session/", "answering/"))}


def test_only_grounding_constructs_what_is_said() -> None:
    """A mouth takes nothing else, and what it takes was read back."""
    makers = {name for name, node in nodes(ast.Call) if called(node) in ("Utterance", "SpokenSentence")}
    assert makers == {"grounding/utterance.py", "grounding/read_back.py"}


def test_only_stories_construct_fiction() -> None:
    """What nothing vouches for is made in one module, and never by a class of its own kind elsewhere."""
    assert {name for name, node in nodes(ast.Call) if called(node) == "FictionText"} == {"stories/telling.py"}
    heirs = {
        name
        for name, node in nodes(ast.ClassDef)
        if isinstance(node, ast.ClassDef) and "FictionText" in map(called, node.bases)
    }
    assert heirs == set()


def test_only_voice_constructs_unvouched_text() -> None:
    """What is said without a session is made in one module, and is of no kind of connection with one."""
    assert {name for name, node in nodes(ast.Call) if called(node) == "UnvouchedText"} == {
        "voice/unvouched.py"
    }
    assert all(kind.is_half for kind in KINDS if UnvouchedText in kind.texts)


def test_only_the_policy_decides_on_approval() -> None:
    """Nothing else makes one, so nothing else can lower it."""
    assert {name for name, node in nodes(ast.Call) if called(node) == "Approval"} == {"tools/policy.py"}


def test_prompts_are_put_together_in_one_place() -> None:
    """One module makes a model's messages of what a turn knows, and it alone lists the tools that may be called."""
    makers = {name for name, node in nodes(ast.Call) if called(node) == "ModelMessage"}
    assert {name for name in makers if not name.startswith(("structured/", "testing/"))} == {
        "llm/prompt_assembly.py",  # what is structured goes on from the messages that it is given
        "llm/note_reader.py",  # of a message that was answered: it is in no turn
        "llm/story_teller.py",  # of a story: `stories/prompts.py` has put it together
        "models/health.py",  # the request of a server's start: it holds nothing of a turn
    }
    told = {
        name
        for name, node in nodes(ast.Attribute)
        if isinstance(node, ast.Attribute)
        and (node.attr == "no_tools" or ast.unparse(node) in ("charter.role", "charter.rules", "tool.risk"))
    }
    assert told == {"llm/prompt_assembly.py"}


def test_the_session_asks_for_no_state() -> None:
    """The table decides: no condition of core or session looks at the state."""
    for name, node in nodes(ast.Attribute, "session/"):
        if name != "session/states.py":
            assert isinstance(node, ast.Attribute)
            assert not (isinstance(node.value, ast.Name) and node.value.id == "State"), (
                f"{name}:{node.lineno}"
            )
    for name, node in [
        *nodes(ast.If, "session/"),
        *nodes(ast.IfExp, "session/"),
        *nodes(ast.While, "session/"),
    ]:
        condition = ast.unparse(node.test)  # type: ignore[attr-defined]
        assert ".state" not in condition, f"{name}: {condition}"


def test_a_session_knows_no_frame_of_memory() -> None:
    """It passes them on: what they say is between the client and the consultant, which stands in memory's room."""
    parts = {"Memory", "Recall", "Recalled", "Thread", "Threads", "Messages", "Exchange", "Item", "Excerpt"}
    known = {
        (name, each.name)
        for name, node in nodes(ast.ImportFrom, "session/")
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("protocol.")
        for each in node.names
        if parts & set(re.findall(r"[A-Z][a-z]*", each.name))
    }
    assert known == set()


def test_everything_is_caught_at_the_edges_only() -> None:
    """A connection, a turn, a voice, an action, a file, an exchange that is kept or read: nothing else does."""
    broad = set()
    for name, node in nodes(ast.ExceptHandler):
        assert isinstance(node, ast.ExceptHandler)
        caught = ast.unparse(node.type) if node.type else "everything"
        passed_on = any(isinstance(each, ast.Raise) and each.exc is None for each in node.body)
        if not passed_on and caught in ("Exception", "BaseException", "everything"):
            broad.add(name)
    assert (
        broad
        <= {
            "memory/exchange_keeper.py",
            "memory/note_taker.py",  # one message that a model reads
            "tools/python_module.py",  # annotations that an operator wrote, as they are read
            "models/custom.py",  # one answer of a model that an operator wrote
            "operator_module.py",  # the import of a module that an operator wrote
            "session/session.py",
            "session/turn.py",
            "session/single_turn.py",  # a turn without a session
            "stories/consultant.py",  # one request to open a story
            "stories/keeper.py",  # one scene that was told
            "memory/consultant.py",  # one question to what is remembered
            "session/feedback_answerer.py",  # one rating of an answer
            "actions/runner.py",
            "server/serve.py",
            "mcp/server_keeper.py",  # one life of a server: somebody's program, through somebody's library
            "server/api/answers.py",  # one request of the HTTP API
            "wire/pulse.py",  # one voice of many
            "voice/hearing.py",  # one ear: somebody's recogniser
            "voice/speech.py",  # one speech: somebody's program
            "documents/open.py",  # other people's parsers on other people's bytes: what breaks is that file's reason
            "threads/thread_registry.py",  # one thread, and what is told to who waits
        }
    )


def test_no_shield_is_without_a_deadline() -> None:
    """A shield that could last for ever would hang a shutdown."""
    for name, node in nodes(ast.Call):
        if any(each.arg == "shield" for each in node.keywords):  # type: ignore[attr-defined]
            bounded = called(node) in ("move_on_after", "fail_after", "move_on_at", "fail_at")
            deadline = any(each.arg == "deadline" for each in node.keywords)  # type: ignore[attr-defined]
            assert bounded or deadline, f"{name}:{node.lineno}"  # type: ignore[attr-defined]


def test_the_sdk_of_mcp_is_imported_only_where_servers_are_opened() -> None:
    """It is an extra, and takes half a second: one module needs it, which one `open.py` imports when there are some."""
    sdk = {"mcp", "mcp_types", "pydantic"}
    users, openers = set(), set()
    for name, node in [*nodes(ast.Import), *nodes(ast.ImportFrom)]:
        if isinstance(node, ast.Import):
            users |= {name} if any(each.name.partition(".")[0] in sdk for each in node.names) else set()
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            users |= {name} if node.level == 0 and module.partition(".")[0] in sdk else set()
            openers |= {name} if node.level and module.rpartition(".")[2] == "sdk" else set()
    assert (users, openers) == ({"mcp/sdk.py"}, {"mcp/open.py"})


def test_the_package_imports_no_test() -> None:
    """Proofs stand beside the product: `tests` is not in the wheel, so no module of `agent` may import from it."""
    names = {(name, each.name) for name, node in nodes(ast.Import) for each in node.names}  # type: ignore[attr-defined]
    names |= {(name, node.module or "") for name, node in nodes(ast.ImportFrom)}  # type: ignore[attr-defined]
    assert len(names) > 1000
    assert {name for name, module in names if module.partition(".")[0] == "tests"} == set()


def test_threads_are_started_in_one_place() -> None:
    """Virtual time does not see threads, so there is one place to replace."""
    assert {
        name
        for name, node in nodes(ast.Attribute)
        if isinstance(node, ast.Attribute) and node.attr == "to_thread"
    } <= {"host.py", "client/stdin.py"}


def test_commands_print_in_one_place() -> None:
    """What is printed has gone through the one cleaner; of the rest only a few print their own."""
    streams, printing = set(), set()
    for name, node in [*nodes(ast.Call), *nodes(ast.Attribute)]:
        if isinstance(node, ast.Call) and called(node) == "print":
            printing.add(name)
        elif isinstance(node, ast.Attribute) and node.attr.strip("_") in ("stdout", "stderr"):
            streams |= {name} if ast.unparse(node.value) == "sys" else set()
    assert printing == {"commands/output.py"}
    assert streams - {"commands/output.py"} == {
        "cli.py",  # lets go of one whose reader has left
        "commands/serve.py",  # through a spool, cleaned
        "log.py",
        "testing/demo.py",  # cleaned
        "soak/command.py",
        "soak/phases.py",
    }


LONG_FUNCTIONS = {("commands/recall.py", "recall"): 66}
"""Functions of more lines than others may have, with how many; it only shrinks."""


def test_docstrings_name_things() -> None:
    """Of 1,000 words fewer than 3 stand in place of a name, and at least 40 are names of code."""
    for room, figures in words.measure_rooms(MODULES).items():
        assert figures.riddles < 3, f"python -m tests.words {room} lists them"
        assert figures.code_names >= 40, f"{room}: put names of code in backticks"


ELSEWHERE = {"ETag", "MockClock", "agent.toml", "agent.v1", "agent.voice.v1"}
"""Names of other packages and standards that are in docstrings and not in the code."""


def test_names_of_code_in_docstrings_exist() -> None:
    """Who renames a class or moves it renames it in the prose, too: `agent.ports.brain.Brain`, `Brain`."""
    names = find_names()
    known = ELSEWHERE.union(*names.values())
    wrong = []
    for module, node in nodes(ast.Expr):
        text = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else ""
        for name in re.findall(r"`([A-Za-z_][\w.]*)`", str(text)):
            if name.startswith("agent.") and name not in ELSEWHERE:
                parts = name.split(".")[1:]
                end = next(end for end in range(len(parts), -1, -1) if ".".join(parts[:end]) in names)
                is_known = names[".".join(parts[:end])].issuperset(parts[end:])
            else:
                is_known = name in known or not re.fullmatch(r"[A-Z][a-z]\w*", name)
            if not is_known:
                wrong.append(f"{module}: {name}")
    assert wrong == []


def find_names() -> dict[str, set[str]]:
    """Return for each module and package, without `agent.`, the names in its code and the words of its strings."""
    places = {
        each: each.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")
        for each in MODULES
    }
    names: dict[str, set[str]] = {place: set() for place in places.values()}
    for module, node in nodes(ast.AST):
        place = places[module]
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                names[place].add(node.name)
            case ast.Name():
                names[place].add(node.id)
            case ast.Attribute():
                names[place].add(node.attr)
            case ast.alias():
                names[place].update(node.name.split("."))
            case ast.Constant() if isinstance(node.value, str) and "`" not in node.value:
                names[place].update(re.findall(r"\w+", node.value))
    return names


def test_functions_are_not_named_by_participles() -> None:
    """A function is a verb with its object, or a noun; fewer than 0.5 % are not."""
    functions = sum(1 for tree in MODULES.values() for _ in words.find_functions(tree))
    assert len(words.find_participles(MODULES)) < 0.005 * functions, "python -m tests.words ROOM lists them"


def test_class_names_are_unique() -> None:
    """One word for one thing, in the whole package."""
    assert words.find_shared_classes(MODULES) == {}


def test_long_records_take_their_fields_by_name() -> None:
    """From six fields on two are soon swapped. The exceptions are made for every number of a text, where names cost."""
    positional = {(each.file, each.name) for each in words.find_positional_records(MODULES)}
    assert positional == {("numbers/token.py", "Amount"), ("numbers/token.py", "NumberMatch")}


def test_invariants_have_the_names_of_the_guide() -> None:
    """Code, tests and guides name an invariant by its letter in `agent/guide/concepts.md`, and by no older number."""
    listed = re.findall(
        r"^- \*\*([STM]\d+)\.\*\*", (PACKAGE / "guide/concepts.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(listed) == len(set(listed)) > 0
    named: dict[str, set[str]] = {}
    for folder in (PACKAGE, Path(__file__).parent):
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".md", ".toml"):
                for name in re.findall(r"\b[ISTM]\d{1,2}\b", path.read_text("utf-8")):
                    named.setdefault(name, set()).add(path.name)
    assert {name: files for name, files in named.items() if name not in listed} == {}


LONG_MODULES = {
    "answering/brain.py",
    "answering/deciding_brain.py",
    "lang/page.py",
    "protocol/routes.py",
    "retrieval/ranking.py",
    "server/websocket.py",
    "storage/turns.py",
}
"""Modules of more than 400 lines, each of them data or one thing; the list only shrinks."""


def test_modules_are_short() -> None:
    """Up to 400 lines; a longer one is seldom one thing."""
    long = {name for name in MODULES if (PACKAGE / name).read_text("utf-8").count("\n") > 400}
    assert long <= LONG_MODULES


def test_functions_are_short() -> None:
    """Up to 60 lines."""
    long = {
        (name, node.name): (node.end_lineno or 0) - node.lineno + 1
        for name, tree in MODULES.items()
        for node in words.find_functions(tree)
        if (node.end_lineno or 0) - node.lineno >= 60
    }
    assert {place: lines for place, lines in long.items() if lines > LONG_FUNCTIONS.get(place, 60)} == {}


def test_tests_take_their_clock_as_an_argument() -> None:
    """A clock that is only named by `usefixtures` is made, and the test runs on the machine's time all the same."""
    tests = Path(__file__).parent
    found = [
        path.name
        for path in tests.rglob("test_*.py")
        if re.search(r"usefixtures\([^)]*clock\"", path.read_text("utf-8"))
    ]
    assert found == []
