"""Lists the routes of stories over HTTP, which `agent.protocol.routes` joins to the others; pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ..ports.stories import IMPORT_BYTES
from .route import Route
from .story_api import (
    AsideList,
    BranchList,
    BranchName,
    BranchQuery,
    BranchView,
    CastList,
    ChapterChange,
    ChapterEnd,
    ChapterList,
    ChapterView,
    EditedScene,
    ImportedStory,
    MemberView,
    NewBranch,
    NewChapter,
    NewMember,
    NewState,
    NewStory,
    PickedVersion,
    RecalledList,
    ScenePage,
    ScenePromptQuery,
    ScenePromptView,
    SceneRecallQuery,
    ScenesQuery,
    StateList,
    StatesQuery,
    StateView,
    StoryChange,
    StoryCreated,
    StoryExportQuery,
    StoryList,
    StoryQuery,
    StoryView,
    TipView,
    VersionList,
)

_LAST = ("inherited", "conflict", "busy")


def _route(
    name: str,
    method: Any,
    path: str,
    summary: str,
    answers: Mapping[int, type[msgspec.Struct] | None],
    **rest: Any,
) -> Route:
    query = rest.pop("query", StoryQuery)
    problems = ("story_failed", *rest.pop("problems", ()))
    return Route(
        name=name,
        method=method,
        path=f"/stories{path}",
        summary=summary,
        access="owner",
        answers=answers,
        query=query,
        problems=problems,
        **rest,
    )


_STORY, _BRANCH, _SCENE = "/{story_id}", "/{story_id}/branches/{branch_id}", "/{story_id}/scenes/{scene_id}"
_MEMBER, _CHAPTER = "/{story_id}/cast/{member_id}", "/{story_id}/chapters/{chapter_id}"
STORY_ROUTES: tuple[Route, ...] = (
    _route("list_stories", "GET", "", "A user's stories", {200: StoryList}),
    _route(
        "create_story",
        "POST",
        "",
        "Begin a story",
        {201: StoryCreated},
        body=NewStory,
        problems=("story_full",),
    ),
    _route(
        "import_story",
        "POST",
        "/import",
        "Store an exported story, whole or not at all",
        {201: StoryCreated},
        body=ImportedStory,
        body_most=IMPORT_BYTES,
        problems=("bad_story", "story_full"),
    ),
    _route("get_story", "GET", _STORY, "A story", {200: StoryView}),
    _route("change_story", "PUT", _STORY, "Change a story's words", {200: StoryView}, body=StoryChange),
    _route("delete_story", "DELETE", _STORY, "Erase a story with all of its scenes", {204: None}),
    _route("list_branches", "GET", f"{_STORY}/branches", "A story's branches", {200: BranchList}),
    _route(
        "fork_branch",
        "POST",
        f"{_STORY}/branches",
        "Begin a branch after any scene",
        {201: BranchView},
        body=NewBranch,
        problems=("story_full", "conflict"),
    ),
    _route(
        "rename_branch",
        "PUT",
        _BRANCH,
        "Rename a branch",
        {200: BranchView},
        body=BranchName,
        problems=("conflict",),
    ),
    _route(
        "delete_branch",
        "DELETE",
        _BRANCH,
        "Erase a branch that no other inherits",
        {204: None},
        problems=_LAST,
    ),
    _route(
        "undo_scene",
        "POST",
        f"{_BRANCH}/undo",
        "Shelve a branch's last scene",
        {200: TipView},
        problems=_LAST,
    ),
    _route("redo_scene", "POST", f"{_BRANCH}/redo", "Take back an undo", {200: TipView}, problems=_LAST),
    _route(
        "list_scenes",
        "GET",
        f"{_STORY}/scenes",
        "The scenes of a branch",
        {200: ScenePage},
        query=ScenesQuery,
    ),
    _route("list_versions", "GET", _SCENE, "The versions of a scene", {200: VersionList}),
    _route(
        "pick_version",
        "POST",
        f"{_SCENE}/pick",
        "Make another version of a branch's last scene active",
        {200: TipView},
        body=PickedVersion,
        problems=_LAST,
    ),
    _route(
        "edit_scene",
        "POST",
        f"{_SCENE}/edit",
        "Correct a branch's last scene, as another version",
        {200: TipView},
        body=EditedScene,
        problems=(*_LAST, "story_full"),
    ),
    _route(
        "recall_scenes",
        "GET",
        f"{_STORY}/recall",
        "Search a branch",
        {200: RecalledList},
        query=SceneRecallQuery,
    ),
    _route(
        "show_scene_prompt",
        "GET",
        f"{_STORY}/prompt",
        "The prompt that a directive would have",
        {200: ScenePromptView},
        query=ScenePromptQuery,
    ),
    _route(
        "list_states", "GET", f"{_STORY}/states", "A branch's states", {200: StateList}, query=StatesQuery
    ),
    _route(
        "set_state",
        "PUT",
        f"{_STORY}/states",
        "Set a state by hand",
        {200: StateView},
        query=BranchQuery,
        body=NewState,
        problems=("story_full",),
    ),
    _route("list_cast", "GET", f"{_STORY}/cast", "A story's cast", {200: CastList}),
    _route(
        "add_member",
        "POST",
        f"{_STORY}/cast",
        "Add to the cast",
        {201: MemberView},
        body=NewMember,
        problems=("story_full", "conflict"),
    ),
    _route("change_member", "PUT", _MEMBER, "Change a member of the cast", {200: MemberView}, body=NewMember),
    _route(
        "list_chapters",
        "GET",
        f"{_STORY}/chapters",
        "A branch's chapters",
        {200: ChapterList},
        query=BranchQuery,
    ),
    _route(
        "add_chapter", "POST", f"{_STORY}/chapters", "Begin a chapter", {201: ChapterView}, body=NewChapter
    ),
    _route(
        "change_chapter",
        "PUT",
        _CHAPTER,
        "Change a chapter",
        {200: ChapterView},
        body=ChapterChange,
        problems=("conflict",),
    ),
    _route(
        "conclude_chapter",
        "POST",
        f"{_CHAPTER}/conclude",
        "Conclude a chapter with a summary",
        {200: ChapterView},
        body=ChapterEnd,
        body_optional=True,
        problems=("conflict",),
        turn=True,
    ),
    _route("list_asides", "GET", f"{_STORY}/asides", "The talk beside a story", {200: AsideList}),
    _route(
        "export_story",
        "GET",
        f"{_STORY}/export",
        "A story as a file",
        {200: ImportedStory},
        query=StoryExportQuery,
    ),
)
