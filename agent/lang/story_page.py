"""The record of all texts of the page of stories, with one record for each group of names."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryConnectionStates:
    """The states of the connection to the server."""

    connecting: str
    live: str
    offline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPageTexts:
    """The texts of the page. `branch_at` has {name} and {seq}, `scene_of`, `undone` and `began`
    {seq}, `forked` {name}, `erase_sure` {title}.

    `kinds`, `fields` and `setters` are by the wire's names of kinds of the cast, fields of states, and their setters;
    `errors` by its codes; `conflicts` by a part of the path of a request that cannot be done as things are.
    """

    stories: str
    views: str
    shelf: str
    book: str
    reader: str
    language: str
    auto: str
    none: str
    begin: str
    story_title: str
    foundation: str
    told: str
    scene_told: str
    unwritten: str
    wait: str
    erase: str
    erase_sure: str
    earlier: str
    scenes: str
    choices: str
    directive: str
    send: str
    own: str
    aside: str
    beside: str
    stop: str
    stopped: str
    keep: str
    scene_of: str
    fork: str
    branch_name: str
    forked: str
    retell: str
    edit: str
    scene_text: str
    undo: str
    undone: str
    redo: str
    versions: str
    active: str
    pick: str
    change: str
    save: str
    saving: str
    cancel: str
    words: str
    no_foundation: str
    tree: str
    branch_at: str
    chapters: str
    no_chapters: str
    chapter_title: str
    chapter_place: str
    scenario: str
    direction: str
    milestones: str
    begin_chapter: str
    next_chapter: str
    began: str
    conclude: str
    concluded: str
    reopen: str
    summary: str
    summary_or: str
    cast: str
    no_cast: str
    member_name: str
    kind: str
    look: str
    voice: str
    add_member: str
    states: str
    no_states: str
    value: str
    lock_state: str
    unlock_state: str
    contradictions: str
    no_contradictions: str
    recall: str
    query: str
    search: str
    nothing: str
    locked: str
    wrong_token: str
    token: str
    unlock: str
    state: StoryConnectionStates
    kinds: Mapping[str, str]
    fields: Mapping[str, str]
    setters: Mapping[str, str]
    conflicts: Mapping[str, str]
    errors: Mapping[str, str]
