"""The store of stories against a model in plain Python, through any order of forks, tellings and changes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent.errors import StoryRefused
from agent.ports.stories import SCENE_VERSIONS, BranchTip, EntityState, SceneClaim, SceneDraft
from agent.storage.sqlite.database_file import DatabaseFile
from agent.storage.stories import branching, changing, checking, claims, moving, reading, telling
from agent.storage.stories import states as state_rows
from agent.storage.stories.story_contents import STORIES
from agent.storage.transaction import FunctionRequest
from agent.stories.exchange import read_story
from agent.testing.fakes import Noon
from tests.told import ANA, a_state

DRAWN = strategies.integers(0, 10_000)


@dataclass
class ModelScene:
    """A place of a branch: texts of its versions by id, the active one, and the one that an undo took away."""

    id: str
    versions: dict[str, str] = field(default_factory=dict)
    active: str = ""
    undone: str = ""


@dataclass
class ModelBranch:
    """A branch with the scenes of its own by their place."""

    id: str
    parent: "ModelBranch | None" = None
    cut: int = 0
    own: dict[int, ModelScene] = field(default_factory=dict)

    @property
    def tip(self) -> int:
        return max((seq for seq, scene in self.own.items() if scene.active), default=self.cut)

    def scene(self, seq: int) -> ModelScene:
        """The scene of a place of the lineage."""
        return self.own[seq] if seq > self.cut or self.parent is None else self.parent.scene(seq)

    def texts(self) -> list[str]:
        return [scene.versions[scene.active] for seq in range(1, self.tip + 1) for scene in [self.scene(seq)]]


class StoryMachine(RuleBasedStateMachine):
    """One story; each step asks the store and the model, which agree in what is refused and what is read."""

    def __init__(self) -> None:
        super().__init__()
        self.file = DatabaseFile(None, Noon(), STORIES)
        self.file.open()
        self.count = 0
        story, branch = self.write(branching.create_story, ANA, "T", "F", "en", 1)
        self.story = story.id
        self.branches = {branch.id: ModelBranch(branch.id)}

    def teardown(self) -> None:
        """No row is unsound at the end, and of the deleted story no word is left."""
        assert self.read(checking.list_faults, 9) == ()
        self.write(branching.delete_story, ANA, self.story)
        assert self.file._connection is not None
        for table in ("version_words", "state_words", "words", "branches", "snapshots"):
            rows = self.file._connection.exec_driver_sql(f"SELECT * FROM {table}").all()
            assert not any("scene" in str(value) or "packed" in str(value) for row in rows for value in row)
        for table in ("stories", "scenes", "versions", "states", "claims", "choices"):
            assert self.file._connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0
        self.file.close()

    def write(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """The answer of a write, or the code with which it is refused."""
        report = self.file.commit([FunctionRequest(lambda transaction: work(*arguments, transaction))])
        assert (report.trouble, report.faults) == ("", {})
        if report.refused:
            [error] = report.refused.values()
            assert isinstance(error, StoryRefused)
            return error.code
        return report.answers[0]

    def read(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self.file.read(lambda connection: work(*arguments, connection))

    def branch(self, drawn: int) -> ModelBranch:
        return [*self.branches.values()][drawn % len(self.branches)]

    def seen(self, branch: ModelBranch) -> BranchTip:
        tip: BranchTip = self.read(reading.open_branch, ANA, self.story, branch.id)
        return tip

    def is_inherited(self, branch: ModelBranch) -> bool:
        heirs = [each for each in self.branches.values() if each.parent is branch and each.cut >= branch.tip]
        return branch.tip == branch.cut or bool(heirs)

    def new_text(self) -> tuple[str, list[EntityState]]:
        self.count += 1
        return f"scene {self.count}", [a_state("scene", f"scene {self.count}")]

    def add_version(self, branch: ModelBranch, seq: int, scene: str, version: str, text: str) -> None:
        """Note in the model a version that the store has written."""
        for each in branch.own.values():
            each.undone = ""
        place = branch.own.setdefault(seq, ModelScene(scene))
        assert place.id == scene
        before, place.active = place.active, version
        place.versions[version] = text
        leaving = [each for each in place.versions if each not in (version, before)]
        for gone in leaving[: max(0, len(place.versions) - SCENE_VERSIONS)]:
            del place.versions[gone]

    def claim(self, branch: ModelBranch, retold: str = "") -> SceneClaim | str:
        tip = self.seen(branch)
        self.count += 1
        wanted = SceneClaim(
            id=f"claim {self.count}", scope=ANA, story=self.story, branch=branch.id, seq=0, retold=retold
        )
        claim: SceneClaim | str = self.write(claims.claim_scene, wanted, tip, "m1", 1)
        return claim

    @rule(drawn=DRAWN, ends=strategies.booleans())
    def tell(self, drawn: int, ends: bool) -> None:
        """A scene is told; or its turn is cancelled, and nothing of it is there."""
        branch = self.branch(drawn)
        claim = self.claim(branch)
        assert isinstance(claim, SceneClaim)
        assert claim.seq == branch.tip + 1
        assert self.claim(branch) == "busy"
        assert self.write(changing.undo, ANA, self.story, branch.id, 1) == "busy"
        if not ends:
            self.write(claims.release_claim, claim.id)
            return
        self.store(branch, claim)

    def store(self, branch: ModelBranch, claim: SceneClaim) -> None:
        text, states = self.new_text()
        draft = SceneDraft(
            claim=claim, kind="text", directive="scene", seed=1, snapshot=b"packed", model="mock"
        )
        receipt = self.write(telling.store_scene, draft, text, states, 1)
        assert self.write(telling.store_scene, draft, text, states, 1) == receipt
        assert (receipt.branch, receipt.seq) == (branch.id, claim.seq)
        self.add_version(branch, claim.seq, receipt.scene, receipt.version, text)

    @rule(drawn=DRAWN)
    def retell(self, drawn: int) -> None:
        """The last scene gets another version, unless another branch has it."""
        branch = self.branch(drawn)
        if not branch.tip:
            return
        claim = self.claim(branch, branch.scene(branch.tip).id)
        if self.is_inherited(branch):
            assert claim == "inherited"
            return
        assert isinstance(claim, SceneClaim)
        assert self.write(branching.fork, ANA, self.story, branch.id, branch.tip, "late", 1) == "busy"
        self.store(branch, claim)

    @rule(drawn=DRAWN)
    def undo(self, drawn: int) -> None:
        """The last scene's place stands empty."""
        branch = self.branch(drawn)
        answer = self.write(changing.undo, ANA, self.story, branch.id, 1)
        if not branch.tip:
            assert answer == "conflict"
        elif self.is_inherited(branch):
            assert answer == "inherited"
        else:
            scene = branch.own[branch.tip]
            scene.active, scene.undone = "", scene.active
            assert answer.seq == branch.tip

    @rule(drawn=DRAWN)
    def redo(self, drawn: int) -> None:
        """What was undone last comes back, unless the branch has changed since."""
        branch = self.branch(drawn)
        answer = self.write(changing.redo, ANA, self.story, branch.id, 1)
        scene = branch.own.get(branch.tip + 1)
        if scene is None or not scene.undone:
            assert answer == "conflict"
        else:
            scene.active, scene.undone = scene.undone, ""
            assert answer.version == scene.active

    @rule(drawn=DRAWN, version=DRAWN)
    def pick(self, drawn: int, version: int) -> None:
        """A shelved version of the last scene becomes active."""
        branch = self.branch(drawn)
        if not branch.tip:
            return
        scene = branch.scene(branch.tip)
        chosen = [*scene.versions][version % len(scene.versions)]
        owner = next(each for each in self.branches.values() if scene in each.own.values())
        answer = self.write(changing.pick_version, ANA, self.story, scene.id, chosen, 1)
        if owner.own.get(owner.tip) is scene and not self.is_inherited(owner):
            assert answer.version == chosen
            if scene.active != chosen:
                scene.active = chosen
                for each in owner.own.values():
                    each.undone = ""
        else:
            assert answer == "inherited"

    @rule(drawn=DRAWN)
    def edit(self, drawn: int) -> None:
        """The last scene is corrected."""
        branch = self.branch(drawn)
        if branch.tip == branch.cut:
            return
        scene = branch.own[branch.tip]
        text, states = self.new_text()
        answer = self.write(changing.edit_scene, ANA, self.story, scene.id, text, states, 1)
        if self.is_inherited(branch):
            assert answer == "inherited"
        else:
            self.add_version(branch, branch.tip, scene.id, answer.version, text)

    @precondition(lambda self: len(self.branches) < 8)
    @rule(drawn=DRAWN, at=DRAWN)
    def fork(self, drawn: int, at: int) -> None:
        """A branch begins anywhere; one row is written, and its parent owns the scene at the cut."""
        branch = self.branch(drawn)
        seq = at % (branch.tip + 2)
        self.count += 1
        before = self.count_rows()
        answer = self.write(branching.fork, ANA, self.story, branch.id, seq, f"scene {self.count}", 1)
        if seq > branch.tip:
            assert answer == "conflict"
            return
        assert self.count_rows() == before + 1
        owner = branch
        while owner.parent is not None and seq <= owner.cut:
            owner = owner.parent
        assert (answer.parent, answer.cut) == (owner.id, seq)
        self.branches[answer.id] = ModelBranch(answer.id, owner, seq)

    def count_rows(self) -> int:
        connection = self.file._connection
        assert connection is not None
        return sum(
            int(connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one())
            for name in STORIES.tables.tables
        )

    @rule(drawn=DRAWN)
    def delete_branch(self, drawn: int) -> None:
        """A branch goes that no other comes from."""
        branch = self.branch(drawn)
        answer = self.write(branching.delete_branch, ANA, self.story, branch.id)
        if any(each.parent is branch for each in self.branches.values()):
            assert answer == "inherited"
        elif len(self.branches) == 1:
            assert answer == "conflict"
        else:
            assert answer is None
            del self.branches[branch.id]

    @rule()
    def move(self) -> None:
        """Imported and exported again the story is the same."""
        exported = self.read(moving.export_story, ANA, self.story)
        story, _ = self.write(moving.import_story, ANA, read_story(exported), 1)
        assert self.read(moving.export_story, ANA, story.id) == exported
        self.write(branching.delete_story, ANA, story.id)

    @invariant()
    def all_is_as_it_was_told(self) -> None:
        """Each branch reads as the model has it: scenes, the last state, versions."""
        for branch in self.branches.values():
            texts = branch.texts()
            scenes = self.read(reading.list_scenes, ANA, self.story, branch.id, 0, 100)
            assert [each.text for each in scenes] == texts
            assert [each.seq for each in scenes] == [*range(1, len(texts) + 1)]
            states = self.read(state_rows.list_states, ANA, self.story, branch.id, None, False)
            assert [each.value for each in states] == texts[-1:]
            for scene in branch.own.values():
                found = self.read(reading.list_versions, ANA, self.story, scene.id)
                assert {each.version: each.text for each in found} == scene.versions
                active = [each.version for each in found if each.status == "active"]
                assert active == [scene.active] * bool(scene.active)


def test_a_story_is_as_its_model() -> None:
    """Whatever is done with it, in some orders."""
    run_state_machine_as_test(
        StoryMachine, settings=settings(max_examples=8, stateful_step_count=20, deadline=None)
    )


@pytest.mark.proof
def test_a_story_is_as_its_model_at_length() -> None:
    """In many more orders, each of them longer."""
    run_state_machine_as_test(
        StoryMachine, settings=settings(max_examples=60, stateful_step_count=40, deadline=None)
    )
