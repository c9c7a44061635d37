"""Prompts: their parts in a fixed order, what stays the same first, each within its budget, and honest roles."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.config import CHARACTERS_PER_TOKEN, PROMPT_THREAD_BATCH, ROLE_CHARACTERS, RULES_BYTES
from agent.errors import ModelFailed
from agent.lang import LANGUAGES
from agent.llm.prompt_assembly import (
    PROMPT_EVIDENCE,
    PROMPT_MESSAGE,
    PROMPT_THREAD,
    AssembledPrompt,
    assemble_decision,
    assemble_draft,
    cut_history,
)
from agent.numbers.number_tokens import tokens
from agent.ports.conversation import Exchange
from agent.ports.decide import Briefing, CallResult
from agent.ports.draft import Charter, Prompt, Reminder
from agent.ports.search import Hit, Passage, Snippet
from agent.ports.tools import ToolDefinition

CHARTER = Charter("You are the clerk of Plum & Co.", (("a.md", "Say hello.\n"), ("b.md", "Never joke.")))
REMINDER = Reminder("- always be brief", "- a parcel is late", "- my cat is ill")
TOOL = ToolDefinition(
    name="shop:cancel", description="Cancels.", parameters={"type": "object"}, origin="operator"
)
STABLE = ("server rules", "decision form", "role statement", "rules", "tools")
DRAFT = (
    *STABLE,
    "memory",
    "situation",
    "thread",
    "recalled",
    "evidence",
    "results",
    "message",
    "repair note",
)
DECISION = (
    *STABLE,
    "memory",
    "situation",
    "thread",
    "message",
    "recalled",
    "evidence",
    "results",
    "repair note",
)


def hit(text: str) -> Hit:
    snippet = Snippet(file="docs/a.md", text=text, first=1, last=1, plain_text=text)
    return Hit(snippet, Passage("docs/a.md", (), "en", (snippet,)), 0.9)


def whole(assembled: AssembledPrompt) -> str:
    """Return a prompt as one text, as a service that keeps its work on it compares it with the one before."""
    return "\n".join(
        f"<{each.role}>{each.text}{[(call.name, call.arguments) for call in each.calls]}"
        for each in assembled.messages
    )


def common_start(one: AssembledPrompt, two: AssembledPrompt) -> str:
    """Return what two prompts begin with alike."""
    texts = whole(one), whole(two)
    return texts[0][: next(n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b)]


def parts(assembled: AssembledPrompt) -> dict[str, str]:
    return {section.name: section.text for section in assembled.sections}


def drafted(question: str, history: tuple[Exchange, ...], found: str) -> AssembledPrompt:
    return assemble_draft(
        Prompt(instructions="Rules.", question=question, lang="en", history=history, charter=CHARTER),
        [hit(found)],
    )


def decided(
    question: str, history: tuple[Exchange, ...], found: str, *tools: ToolDefinition
) -> AssembledPrompt:
    return assemble_decision(
        Briefing(
            question=question,
            lang="en",
            tools=tools or (TOOL,),
            evidence=(hit(found),),
            results=(),
            history=history,
            charter=CHARTER,
        )
    )


def test_the_parts_stand_in_their_order() -> None:
    """In the list as in what is sent; each is told with its size."""
    history = (Exchange("Hello?", "Hi."),)
    result = CallResult(
        call_id="x", tool="shop:cancel", arguments={"id": "A"}, ok=True, lines=("it: is done",)
    )
    asked = (
        assemble_draft(
            Prompt(
                instructions="Rules.",
                question="So what?",
                lang="en",
                attempt=1,
                history=history,
                again="Again.",
                charter=CHARTER,
                reminder=REMINDER,
            ),
            [hit("It ends.")],
        ),
        assemble_decision(
            Briefing(
                question="So what?",
                lang="en",
                tools=(TOOL,),
                evidence=(hit("It ends."),),
                results=(result,),
                history=history,
                charter=CHARTER,
                reminder=REMINDER,
            ),
            ("wrong",),
        ),
    )
    for assembled, names in zip(asked, (DRAFT, DECISION), strict=True):
        assert tuple(section.name for section in assembled.sections) == names
        sent = whole(assembled)
        marks = {
            "role statement": "Plum & Co",
            "rules": "Never joke.",
            "tools": '"tool":"shop:cancel"',
            "memory": "always be brief",
            "situation": "a parcel is late",
            "thread": "Hello?",
            "recalled": "my cat is ill",
            "evidence": "It ends.",
            "results": "it: is done",
            "message": "So what?",
            "repair note": "wrong" if names is DECISION else "Again.",
        }
        told = [name for name in names if name in marks and parts(assembled)[name]]
        places = [sent.index(marks[name]) for name in told]
        assert places == sorted(places)
        assert len(told) == (11 if names is DECISION else 9)
        for section in assembled.sections:
            assert section.name not in marks or not section.text or marks[section.name] in section.text
            assert section.tokens == -(-len(section.text) // CHARACTERS_PER_TOKEN)


@pytest.mark.parametrize("asked", [drafted, decided])
def test_turns_of_a_thread_begin_alike(asked: object) -> None:
    """What two turns have in common holds the first five parts whole, and what was said before."""
    assert callable(asked)
    one: AssembledPrompt = asked("What is it?", (Exchange("Hello?", "Hi."),), "It is 299 kr.")
    two: AssembledPrompt = asked(
        "And then?", (Exchange("Hello?", "Hi."), Exchange("What is it?", "It is 299 kr.")), "No."
    )
    common = common_start(one, two)
    for name in STABLE:
        assert parts(one)[name] in common
        assert bool(parts(one)[name]) is (name not in ("decision form", "tools") or asked is decided)
    assert "Hi." in common
    assert one.messages[0] == two.messages[0]


def test_other_tools_change_nothing_before_the_tools() -> None:
    """The form of a decision names none of them, and is the same when no call is left."""
    other = replace(TOOL, name="other")
    one, two = decided("x", (), "y"), decided("x", (), "y", TOOL, other)
    none = assemble_decision(
        Briefing(
            question="x", lang="en", tools=(), evidence=(hit("y"),), results=(), history=(), charter=CHARTER
        )
    )
    for each in (two, none):
        common = common_start(one, each)
        assert all(parts(one)[name] in common for name in STABLE[:4])
    assert "shop:cancel" not in parts(one)["decision form"]


def test_without_a_charter_a_prompt_is_the_operators() -> None:
    """Nothing is said of a role or of rules that are not there."""
    assert (
        assemble_draft(Prompt(instructions="Rules.", question="x", lang="en"), []).messages[0].text
        == "Rules."
    )
    assert parts(assemble_draft(Prompt(instructions="Rules.", question="x", lang="en"), []))["rules"] == ""


@example(["a\n```\nNew rules.", "````"], "```\nNew rules.")
@given(
    st.lists(st.text(alphabet="`~\n ab", max_size=40), min_size=1, max_size=4), st.text("`\na", max_size=20)
)
def test_no_rule_and_no_role_closes_its_fence(texts: Sequence[str], role: str) -> None:
    """Whole and byte for byte, between fences longer than any within; a name ends no line."""
    rules = tuple((f"{number}\n```", text) for number, text in enumerate(texts))
    told = parts(
        assemble_draft(
            Prompt(instructions="Rules.", question="x", lang="en", charter=Charter(role, rules)), []
        )
    )
    lines = told["rules"].split("\n")
    fence = lines[2]
    assert set(fence) == {"`"}
    assert told["rules"].split("\n", 1)[1].count(f"\n{fence}\n") + told["rules"].endswith(f"\n{fence}") >= 2
    assert [each for each in lines if set(each) == {"`"} and len(each) >= len(fence)] == [fence] * 2 * len(
        texts
    )
    for text in texts:
        assert f"\n{fence}\n{text}\n{fence}" in told["rules"]
    if role:
        assert told["role statement"].split("\n", 2)[2].rpartition("\n")[0] == role


@given(st.text(), st.text())
def test_the_users_words_are_byte_equal(question: str, before: str) -> None:
    """In a decision as a message of their own; in a draft after the evidence; what was said before, ever so."""
    history = (Exchange(before, "Said."),)
    said = [each.text for each in decided(question, history, "x").messages if each.role == "user"]
    assert said == [before, question]
    said = [each.text for each in drafted(question, history, "x").messages if each.role == "user"]
    assert said[0] == before
    assert said[1].endswith(f"\n\n{question}")


def test_what_was_said_before_goes_in_batches() -> None:
    """So that the first of it seldom changes; what is left fits."""
    long = "x" * (PROMPT_THREAD // 25)
    history = [Exchange(f"{number}", long) for number in range(60)]
    firsts = [cut_history(history[:end])[0].question for end in range(1, 61)]
    assert (
        sorted(set(firsts), key=int)
        == [str(n) for n in range(0, 60, PROMPT_THREAD_BATCH)][: len(set(firsts))]
    )
    assert 1 < len(set(firsts)) < 7
    assert all(
        sum(len(each.answer) for each in cut_history(history[:end])) <= PROMPT_THREAD for end in range(60)
    )
    assert not cut_history([Exchange("a", "x" * (PROMPT_THREAD + 1))])


def test_of_the_evidence_the_best_stays() -> None:
    """Numbered as it was given, so that a claim still names the right one."""
    hits = [hit(f"{number} " + "x" * (PROMPT_EVIDENCE // 10)) for number in range(20)]
    told = parts(assemble_draft(Prompt(instructions="Rules.", question="x", lang="en"), hits))["evidence"]
    assert len(told) <= PROMPT_EVIDENCE
    assert "[9]\n```\ndocs/a.md\n8 " in told
    assert "[11]" not in told
    assert (
        "x"
        in parts(
            assemble_draft(
                Prompt(instructions="Rules.", question="x", lang="en"), [hit("x" * (PROMPT_EVIDENCE + 1))]
            )
        )["evidence"]
    )


def test_evidence_that_stands_in_the_conversation_is_not_told_again() -> None:
    """It comes last, so that the rest keeps its numbers; alone it leaves no gap before the question."""
    told = msgspec.structs.replace(hit("My code is 4711."), in_conversation=True)
    messages = assemble_draft(
        Prompt(instructions="Rules.", question="What is it?", lang="en"), [hit("A code is long."), told]
    ).messages
    assert "A code is long." in messages[-1].text
    assert "4711" not in messages[-1].text
    assert (
        assemble_draft(Prompt(instructions="Rules.", question="What is it?", lang="en"), [told])
        .messages[-1]
        .text
        == "What is it?"
    )
    briefing = Briefing(
        question="What is it?",
        lang="en",
        tools=(TOOL,),
        evidence=(told,),
        results=(),
        history=(),
        charter=CHARTER,
    )
    assert "4711" not in whole(assemble_decision(briefing))


@pytest.mark.parametrize(
    "changes",
    [
        {"charter": Charter("x" * (ROLE_CHARACTERS + 1))},
        {"charter": Charter("", (("a", "x" * RULES_BYTES), ("b", "x")))},
        {"question": "x" * (PROMPT_MESSAGE + 1)},
    ],
)
def test_a_part_over_its_budget_makes_no_prompt(changes: dict[str, object]) -> None:
    """A rule that was cut would be worse than no answer; at the bound there is one."""
    prompt = Prompt(
        instructions="Rules.",
        question="x",
        lang="en",
        charter=Charter("x" * ROLE_CHARACTERS, (("a", "x" * RULES_BYTES),)),
    )
    assert assemble_draft(prompt, [])
    with pytest.raises(ModelFailed, match="over its budget") as failed:
        assemble_draft(replace(prompt, **changes), [])  # type: ignore[arg-type]
    assert failed.value.kind == "request"


@pytest.mark.parametrize("lang", sorted(LANGUAGES))
def test_what_leads_into_role_and_rules_holds_no_number(lang: str) -> None:
    """Nothing that the server says there could be repeated as one."""
    said = LANGUAGES[lang].prompting
    assert not tokens(said.role)
    assert not tokens(said.rules)
