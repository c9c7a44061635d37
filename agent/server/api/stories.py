"""Handlers for stories: the shelf, branches, scenes and versions, cast, chapters, states, export and import."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import wraps

from ...errors import ModelFailed, NotFound, StorageFailed, StoryRefused
from ...ports.conversation import Scope
from ...ports.projects import HOUSE
from ...ports.stories import BranchTip, CastMember, Chapter, EntityState, Milestone, SceneText, Story
from ...ports.story_service import StoryService
from ...protocol import story_api as p
from ...protocol.problems import ProblemError
from ...protocol.records import from_record
from ..responses import Answer
from .answers import DONE, answer_with
from .context import ApiServices, Handler, Request

_NOT_FOUND = ("unknown_story", "no_story")


async def list_stories(services: ApiServices, request: Request) -> Answer:
    """Answer with a user's stories."""
    stories = await _open(services).store.list_stories(_scope(services, request))
    return answer_with(p.StoryList(tuple(map(_view_story, stories))))


async def create_story(services: ApiServices, request: Request) -> Answer:
    """Begin a story with one empty branch."""
    body: p.NewStory = request.body
    story, branch = await _open(services).store.create_story(
        _scope(services, request), body.title, body.foundation, body.lang
    )
    return answer_with(p.StoryCreated(story.id, branch.id), 201)


async def import_story(services: ApiServices, request: Request) -> Answer:
    """Store an exported story, whole or not at all."""
    story, branch = await _open(services).import_story(_scope(services, request), request.body)
    return answer_with(p.StoryCreated(story.id, branch.id), 201)


async def get_story(services: ApiServices, request: Request) -> Answer:
    """Answer with a story."""
    return answer_with(_view_story(await _open(services).store.story(*_names(services, request))))


async def change_story(services: ApiServices, request: Request) -> Answer:
    """Change a story's words."""
    body: p.StoryChange = request.body
    changed = await _open(services).store.edit_story(*_names(services, request), body.title, body.foundation)
    return answer_with(_view_story(changed))


async def delete_story(services: ApiServices, request: Request) -> Answer:
    """Erase a story."""
    await _open(services).delete_story(*_names(services, request))
    return DONE


async def list_branches(services: ApiServices, request: Request) -> Answer:
    """Answer with a story's branches."""
    branches = await _open(services).store.list_branches(*_names(services, request))
    return answer_with(p.BranchList(tuple(from_record(p.BranchView, each) for each in branches)))


async def fork_branch(services: ApiServices, request: Request) -> Answer:
    """Begin a branch after a scene."""
    body: p.NewBranch = request.body
    branch = await _open(services).store.fork(*_names(services, request), body.branch, body.seq, body.name)
    return answer_with(from_record(p.BranchView, branch), 201)


async def rename_branch(services: ApiServices, request: Request) -> Answer:
    """Rename a branch."""
    renamed = await _open(services).store.rename_branch(
        *_names(services, request), request.names["branch_id"], request.body.name
    )
    return answer_with(from_record(p.BranchView, renamed))


async def delete_branch(services: ApiServices, request: Request) -> Answer:
    """Erase a branch that no other inherits."""
    await _open(services).store.delete_branch(*_names(services, request), request.names["branch_id"])
    return DONE


async def undo_scene(services: ApiServices, request: Request) -> Answer:
    """Shelve a branch's last scene."""
    return _answer_tip(
        await _open(services).store.undo(*_names(services, request), request.names["branch_id"])
    )


async def redo_scene(services: ApiServices, request: Request) -> Answer:
    """Take back an undo."""
    return _answer_tip(
        await _open(services).store.redo(*_names(services, request), request.names["branch_id"])
    )


async def list_scenes(services: ApiServices, request: Request) -> Answer:
    """Answer with a part of a branch's scenes."""
    query: p.ScenesQuery = request.query
    scenes = await _open(services).store.list_scenes(
        *await _branch(services, request), query.after, query.limit + 1
    )
    page = scenes[: query.limit]
    after = page[-1].seq if len(scenes) > len(page) else None
    return answer_with(p.ScenePage(tuple(from_record(p.SceneView, each) for each in page), after))


async def list_versions(services: ApiServices, request: Request) -> Answer:
    """Answer with the versions of a scene."""
    versions = await _open(services).store.list_versions(
        *_names(services, request), request.names["scene_id"]
    )
    return answer_with(p.VersionList(tuple(from_record(p.VersionView, each) for each in versions)))


async def pick_version(services: ApiServices, request: Request) -> Answer:
    """Make another version of a branch's last scene active."""
    return _answer_tip(
        await _open(services).store.pick_version(
            *_names(services, request), request.names["scene_id"], request.body.version
        )
    )


async def edit_scene(services: ApiServices, request: Request) -> Answer:
    """Correct a branch's last scene."""
    return _answer_tip(
        await _open(services).edit_scene(
            *_names(services, request), request.names["scene_id"], request.body.text
        )
    )


async def recall_scenes(services: ApiServices, request: Request) -> Answer:
    """Answer with the scenes of a branch that fit a query."""
    query: p.SceneRecallQuery = request.query
    scenes = await _open(services).recall(*await _branch(services, request), query.query, query.limit)
    views = tuple(from_record(p.RecalledView, each) for each in scenes)
    return answer_with(p.RecalledList(views, views[0].score if views else 0.0))


async def show_scene_prompt(services: ApiServices, request: Request) -> Answer:
    """Answer with the prompt that a directive would have."""
    query: p.ScenePromptQuery = request.query
    shown = await _open(services).show_prompt(*await _branch(services, request), query.text)
    return answer_with(p.ScenePromptView(shown.sections, shown.border))


async def list_states(services: ApiServices, request: Request) -> Answer:
    """Answer with the states of a branch, and their contradictions."""
    query: p.StatesQuery = request.query
    shown = await _open(services).show_states(
        *await _branch(services, request), query.at, query.history == "true"
    )
    return answer_with(p.StateList(tuple(map(_view_state, shown.states)), shown.contradictions))


async def set_state(services: ApiServices, request: Request) -> Answer:
    """Set a state by hand."""
    body: p.NewState = request.body
    scope, story, branch = await _branch(services, request)
    state = EntityState(
        entity=body.entity,
        field=body.field,
        value=body.value,
        seq=0,
        branch=branch,
        by="hand",
        locked=body.locked,
    )
    return answer_with(_view_state(await _open(services).store.set_state(scope, story, branch, state)))


async def list_cast(services: ApiServices, request: Request) -> Answer:
    """Answer with a story's cast."""
    cast = await _open(services).store.list_cast(*_names(services, request))
    return answer_with(p.CastList(tuple(from_record(p.MemberView, each) for each in cast)))


async def add_member(services: ApiServices, request: Request) -> Answer:
    """Add a member to the cast."""
    return await _put_member(services, request, "", 201)


async def change_member(services: ApiServices, request: Request) -> Answer:
    """Change a member of the cast."""
    return await _put_member(services, request, request.names["member_id"], 200)


async def _put_member(services: ApiServices, request: Request, id: str, status: int) -> Answer:
    body: p.NewMember = request.body
    member = CastMember(id=id, name=body.name, kind=body.kind, look=body.look, voice=body.voice)
    stored = await _open(services).store.put_member(*_names(services, request), member)
    return answer_with(from_record(p.MemberView, stored), status)


async def list_chapters(services: ApiServices, request: Request) -> Answer:
    """Answer with a branch's chapters."""
    chapters = await _open(services).store.list_chapters(*await _branch(services, request))
    return answer_with(p.ChapterList(tuple(map(_view_chapter, chapters))))


async def add_chapter(services: ApiServices, request: Request) -> Answer:
    """Begin a chapter after the last scene of a branch."""
    body: p.NewChapter = request.body
    chapter = Chapter(
        id="",
        branch=body.branch,
        from_seq=0,
        title=body.title,
        place=body.place,
        scenario=body.scenario,
        direction=body.direction,
        milestones=tuple(
            Milestone(number=number, text=text) for number, text in enumerate(body.milestones, start=1)
        ),
    )
    stored = await _open(services).store.add_chapter(*_names(services, request), chapter)
    return answer_with(_view_chapter(stored), 201)


async def change_chapter(services: ApiServices, request: Request) -> Answer:
    """Change a chapter's words, open it again, or mark its milestones by hand; what is refused changes nothing."""
    body: p.ChapterChange = request.body
    store, names, id = _open(services).store, _names(services, request), request.names["chapter_id"]
    chapter = await store.chapter(*names, id)
    met = _read_milestones(chapter, body.met or {})
    tip = await store.open_branch(*names, body.branch or chapter.branch) if met else None
    if tip is not None:
        inherited = tip.scene is not None and tip.scene.branch != tip.branch
        if tip.seq < chapter.from_seq or inherited:
            raise ProblemError("conflict", "A milestone comes about in a scene: tell one first.")
    if body.status is not None:
        chapter = await store.reopen_chapter(*names, id, body.branch or "")
    words = {
        name: value
        for name in ("title", "place", "scenario", "direction")
        if (value := getattr(body, name)) is not None
    }
    if words:
        chapter = await store.edit_chapter(*names, replace(chapter, **words))
    if tip is not None:
        chapter = await store.mark_milestones(*names, id, tip.version, met)
    return answer_with(_view_chapter(chapter))


def _read_milestones(chapter: Chapter, met: Mapping[str, bool]) -> dict[int, bool]:
    """Return by its number whether each named milestone of a chapter is met."""
    numbers = {str(each.number): each.number for each in chapter.milestones}
    if not met.keys() <= numbers.keys():
        raise ProblemError("bad_request", "Name milestones in met by their numbers.")
    return {numbers[number]: value for number, value in met.items()}


async def conclude_chapter(services: ApiServices, request: Request) -> Answer:
    """Conclude a chapter."""
    concluded = await _open(services).conclude_chapter(
        *_names(services, request),
        request.names["chapter_id"],
        request.body.summary,
        request.body.branch or "",
    )
    return answer_with(_view_chapter(concluded))


async def list_asides(services: ApiServices, request: Request) -> Answer:
    """Answer with the talk beside a story."""
    asides = await _open(services).store.list_asides(*_names(services, request))
    return answer_with(p.AsideList(tuple(from_record(p.AsideView, each) for each in asides)))


async def export_story(services: ApiServices, request: Request) -> Answer:
    """Answer with a story as JSON that can be imported, or with one branch of it as Markdown to read."""
    query: p.StoryExportQuery = request.query
    store, names = _open(services).store, _names(services, request)
    if query.form == "json":
        document = json.dumps(await store.export_story(*names), ensure_ascii=False, indent=1) + "\n"
        return Answer(status=200, content=document.encode(), kind="application/json")
    story = await store.story(*names)
    branch = query.branch or (await store.list_branches(*names))[0].id
    scenes: list[SceneText] = []
    while part := await store.list_scenes(*names, branch, scenes[-1].seq if scenes else 0, p.SCENES_MOST):
        scenes += part
    text = write_markdown(story, scenes)
    return Answer(status=200, content=text.encode(), kind="text/markdown; charset=utf-8")


def write_markdown(story: Story, scenes: Sequence[SceneText]) -> str:
    """Return a story to read: its title, and its scenes with a line between them."""
    return (
        "\n\n".join([f"# {story.title}", "\n\n* * *\n\n".join(each.text for each in scenes)]).rstrip() + "\n"
    )


def _open(services: ApiServices) -> StoryService:
    """Return the stories of `services`. Raises `NotFound` where the server tells none."""
    if services.stories is None:
        raise NotFound
    return services.stories


def _scope(services: ApiServices, request: Request) -> Scope:
    """Return the owner of the stories: of clients of the sockets where no other project is named."""
    owner = request.owner
    return replace(owner, project=services.own_project) if owner.project == HOUSE else owner


def _names(services: ApiServices, request: Request) -> tuple[Scope, str]:
    return _scope(services, request), request.names["story_id"]


async def _branch(services: ApiServices, request: Request) -> tuple[Scope, str, str]:
    """Return the scope, the story and the branch of a request; the branch told last where it names none."""
    scope, story = _names(services, request)
    if request.query.branch is not None:
        return scope, story, request.query.branch
    return scope, story, (await _open(services).store.open_branch(scope, story, None)).branch


def _answer_tip(tip: BranchTip) -> Answer:
    scene = tip.scene.scene if tip.scene is not None else None
    return answer_with(p.TipView(tip.branch, tip.seq, scene, tip.version or None))


def _view_story(story: Story) -> p.StoryView:
    return from_record(p.StoryView, story)


def _view_state(state: EntityState) -> p.StateView:
    return from_record(p.StateView, state)


def _view_chapter(chapter: Chapter) -> p.ChapterView:
    milestones = tuple(from_record(p.MilestoneView, each) for each in chapter.milestones)
    return from_record(p.ChapterView, chapter, milestones=milestones)


def _explain(handler: Handler) -> Handler:
    """Return `handler` with the errors of stories as problems: a story of another's is one that never was."""

    @wraps(handler)
    async def handle(services: ApiServices, request: Request) -> Answer:
        try:
            return await handler(services, request)
        except StoryRefused as refused:
            if refused.code in _NOT_FOUND:
                raise ProblemError("not_found") from None
            raise ProblemError(refused.code, refused.message) from None
        except StorageFailed:
            raise ProblemError("story_failed") from None
        except ModelFailed:
            raise ProblemError("model_failed") from None

    return handle


HANDLERS: tuple[Handler, ...] = tuple(
    _explain(each)
    for each in (
        list_stories,
        create_story,
        import_story,
        get_story,
        change_story,
        delete_story,
        list_branches,
        fork_branch,
        rename_branch,
        delete_branch,
        undo_scene,
        redo_scene,
        list_scenes,
        list_versions,
        pick_version,
        edit_scene,
        recall_scenes,
        show_scene_prompt,
        list_states,
        set_state,
        list_cast,
        add_member,
        change_member,
        list_chapters,
        add_chapter,
        change_chapter,
        conclude_chapter,
        list_asides,
        export_story,
    )
)
