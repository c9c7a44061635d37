"""Answers each question from the documents of its project, and of no other.

Strategy: `Question.scope.project` alone decides. When it is empty, `HOUSE` or the project of the sockets' sessions, the
Brain over the operator's own documents answers. For another project, a Brain is made over that project's snapshot,
which the turn keeps, with the project's role and RULES in every prompt. Costly parts (models, indexes) are shared or
held elsewhere, so that such a Brain is a few objects and lives for one turn.

A project's role and RULES are no source: a number that stands only in them is in no snippet, and so is refused like
any other.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeAlias

from ..errors import NotFound
from ..ports.brain import Brain, Question, RunCall, TurnEvent
from ..ports.decide import Briefing
from ..ports.draft import Prompt, PromptSection
from ..ports.projects import HOUSE, Holdings, ProjectLibrary
from ..ports.search import Hit
from .brain import GroundedBrain
from .deciding_brain import DecidingBrain

ShowDraft: TypeAlias = Callable[[Prompt, Sequence[Hit]], tuple[PromptSection, ...]]
ShowDecision: TypeAlias = Callable[[Briefing], tuple[PromptSection, ...]]
AnswerParts: TypeAlias = tuple[GroundedBrain, DecidingBrain | None]
"""The Brain that drafts, and the Brain that decides before it; None without tools."""

IN_HOUSE: Final = frozenset(("", HOUSE))
"""Projects that the operator's own documents answer for: HOUSE, and "" when no project is named."""


class ProjectsBrain:
    """Answers each question from the documents of its project (implements `agent.ports.brain.Brain`).

    `house`: answers from the operator's own documents. `projects`: `None` when there are only these. `make_brain`:
    makes a Brain over a project's holdings. `own`: further projects that `house` answers for, such as the sockets'.
    Keeps nothing between turns.
    """

    def __init__(
        self,
        house: Brain,
        projects: ProjectLibrary | None,
        make_brain: Callable[[Holdings], Brain],
        own: Collection[str] = (),
    ) -> None:
        self._own = IN_HOUSE.union(own)
        self._house = house
        self._projects = projects
        self._make_brain = make_brain

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        """Answer one question, from its project as it is when the turn begins.

        Raises `agent.errors.NotFound` when the project is gone, and `agent.errors.StorageFailed`. Cancelled as the
        Brain that answers; while the documents are being read, nothing is left.
        """
        project = question.scope.project
        brain = self._house
        if project not in self._own:
            brain = self._make_brain(await _find_holdings(self._projects, project))
        await brain.answer(question, emit, act)


class PromptViewer:
    """Shows the prompt that a model would be given (implements `agent.ports.projects.PromptDebug`).

    `house`: the Brains over the operator's own documents. `projects`: `None` when there are only these. `make_parts`:
    makes the Brains over a project's holdings. `draft`, `decision`: return the sections of a prompt. The prompt is made
    as a turn makes it; no model is asked, and nothing is kept.
    """

    def __init__(
        self,
        house: AnswerParts,
        projects: ProjectLibrary | None,
        make_parts: Callable[[Holdings], AnswerParts],
        draft: ShowDraft,
        decision: ShowDecision,
    ) -> None:
        self._house = house
        self._projects = projects
        self._make_parts = make_parts
        self._draft = draft
        self._decision = decision

    async def __call__(self, question: Question) -> tuple[PromptSection, ...]:
        """Return the sections of the prompt for a decision when there is one to make, else of the prompt for a draft.

        Raises and is cancelled as `agent.ports.projects.PromptDebug` says.
        """
        grounded, deciding = self._house
        project = question.scope.project
        if project not in IN_HOUSE:
            grounded, deciding = self._make_parts(await _find_holdings(self._projects, project))
        briefing = await deciding.make_briefing(question) if deciding is not None else None
        if briefing is not None:
            return self._decision(briefing)
        found = await grounded.find_evidence(question)
        return self._draft(grounded.make_prompt(found), found.hits)


async def _find_holdings(projects: ProjectLibrary | None, project: str) -> Holdings:
    """Return a project's holdings; raise `NotFound` when there are no projects."""
    if projects is None:
        raise NotFound
    return await projects.load_holdings(project)
