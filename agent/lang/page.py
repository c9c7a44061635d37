"""The record of all texts of the chat page in a language, with one record for each group of the wire's names."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The session's states; only the page knows `connecting`, `disconnected` and `asleep`."""

    connecting: str
    disconnected: str
    asleep: str
    idle: str
    buffering: str
    streaming: str
    awaiting_confirmation: str
    executing: str


@dataclass(frozen=True, slots=True)
class ProgressTexts:
    """The steps of a slow turn, by the wire's names."""

    searching: str
    drafting: str
    checking: str
    calling: str


@dataclass(frozen=True, slots=True)
class DebugTexts:
    """The texts of the operator's view. `now` has {state}. `readiness` leads into the server's own words."""

    title: str
    now: str
    readiness: str


@dataclass(frozen=True, slots=True)
class Confidences:
    """The confidence of an answer, by the wire's names."""

    low: str
    med: str
    high: str


@dataclass(frozen=True, slots=True)
class Blockings:
    """The reasons for a refusal, by the wire's codes."""

    no_sources: str
    memory_unread: str
    number_mismatch: str
    model_failed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The errors of a request, by the wire's codes."""

    bad_json: str
    bad_message: str
    unknown_suggestion: str
    busy: str
    rate_limited: str
    shutting_down: str
    internal: str
    bad_tool: str
    bad_edit: str
    unknown_thread: str
    unknown_item: str
    changed: str
    refused: str
    bad_item: str
    memory_off: str
    memory_failed: str
    unknown_answer: str
    feedback_off: str
    feedback_failed: str
    voice_failed: str
    unknown_story: str
    no_story: str
    stale_choice: str
    moved: str
    inherited: str
    story_full: str
    story_failed: str


@dataclass(frozen=True, slots=True)
class Closings:
    """The reasons for a closed connection that are worth a sentence; `agent.server.page_routes` maps codes to them."""

    gone: str
    unwelcome: str
    too_long: str
    broken: str
    restarting: str


@dataclass(frozen=True, slots=True)
class ActionTexts:
    """The descriptions of the actions, by their names on the wire."""

    schedule_callback: str
    send_sms: str
    create_ticket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The labels of the fields of a payload or a result; other fields are labelled with their own names."""

    phone: str
    text: str
    subject: str
    name: str
    when: str
    body: str
    priority: str
    message: str
    status: str
    id: str
    ticket: str
    time: str
    email: str
    url: str


@dataclass(frozen=True, slots=True)
class Ends:
    """The reasons why a suggestion can no longer be confirmed, by the wire's names."""

    expired: str
    cancelled: str
    rejected: str
    answered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The outcomes of an action."""

    done: str
    failed: str
    unknown: str
    cancelled: str
    ignored: str
    expired: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceViewTexts:
    """The texts around an opened source, in the page and in a page of its own. `on` has {line}, `marked` {lines}.

    `locked`, `gone`, `unread`, `other`: reasons why it cannot be shown.
    """

    locked: str
    gone: str
    unread: str
    other: str
    above: str
    below: str
    on: str
    marked: str
    held: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Types:
    """The types of memory items, by their names."""

    fact: str
    rule: str
    decision: str
    open_loop: str
    idea: str
    event: str
    metric: str
    preference: str
    lesson: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statuses:
    """The statuses of memory items, by the wire's names."""

    proposed: str
    accepted: str
    active: str
    blocked: str
    done: str
    rejected: str
    expired: str
    superseded: str
    forgotten: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """The labels of the buttons for decisions about a memory item, by the wire's names."""

    accept: str
    reject: str
    start: str
    done: str
    block: str
    unblock: str
    reopen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTexts:
    """The texts around memory items. `since`, `until` and `cited` have {day}, `said` has {day} and {who}.

    `message`, `document`, `tool`: the source of an item, as the page calls it. `you`, `agent`, `rule`: its author.
    `leave`: changes nothing. `sure`: asks before an item is forgotten. `copies`: stands after that question, and after
    the one before a conversation is deleted, where a database server has copies.
    """

    open: str
    ask: str
    proposed: str
    live: str
    ended: str
    nothing: str
    incomplete: str
    now: str
    instead: str
    correct: str
    save: str
    leave: str
    forget: str
    sure: str
    copies: str
    history: str
    since: str
    until: str
    message: str
    document: str
    tool: str
    cited: str
    said: str
    you: str
    agent: str
    rule: str
    type: Types
    status: Statuses
    decide: Decisions


@dataclass(frozen=True, slots=True)
class VoiceTexts:
    """The buttons to talk and to listen, and the reasons where one does nothing.

    `no_microphone`: the browser has none that the page may use. `refused`: the user has not allowed it. `failed`: an
    answer could not be spoken to its end.
    """

    talk: str
    listen: str
    no_microphone: str
    refused: str
    failed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackTexts:
    """The texts around the thumbs below an answer.

    `about`: names both. `up`, `down`: each verdict. `good`, `bad`: the label of the field for words about it. `add`:
    sends these. `stored`, `worded`: the server has the verdict, or the words too.
    """

    about: str
    up: str
    down: str
    good: str
    bad: str
    add: str
    sending: str
    stored: str
    worded: str
    lost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedTexts:
    """The texts that only the bubble of `/embed.js` has."""

    unread: str
    unreachable: str
    expired: str
    again: str
    long: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadErrors:
    """The reasons why a file was not taken: those that the page finds itself, then the codes of problems.

    `type` has {kinds}, `large` and `upload_too_large` {size} in MB. `other` is for every other code.
    """

    type: str
    empty: str
    large: str
    lost: str
    stopped: str
    bad_upload: str
    unsupported_media_type: str
    upload_too_large: str
    text_too_long: str
    unreadable: str
    too_many_uploads: str
    project_full: str
    rate_limited: str
    unauthorized: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTexts:
    """The texts of the dialog of uploads.

    `limits` has {size} in MB, `many` {most}, `sent` {share} in percent, `size` {size} in kB, `sure` and `removed`
    {name}; `pages`, `sections`, `blank`, `cut` and `pictures` have {count}.
    """

    open: str
    drop: str
    choose: str
    limits: str
    shared: str
    many: str
    waiting: str
    sent: str
    reading: str
    pages: str
    sections: str
    blank: str
    cut: str
    pictures: str
    replaced: str
    same: str
    stop: str
    again: str
    away: str
    listed: str
    nothing: str
    size: str
    remove: str
    sure: str
    keep: str
    removed: str
    error: UploadErrors


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTexts:
    """The texts around the list of conversations.

    `sure`: asks before a conversation is deleted. `leave`: changes nothing. `busy`: why no other one can be opened now.
    `gone`: the open one was deleted elsewhere. `unsourced`: stands in place of an answer without stored sources.
    """

    list: str
    fresh: str
    search: str
    found: str
    none: str
    nothing: str
    untitled: str
    choices: str
    rename: str
    renamed: str
    title: str
    save: str
    leave: str
    remove: str
    removed: str
    sure: str
    more: str
    earlier: str
    busy: str
    gone: str
    unsourced: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTexts:
    """All texts of the page.

    `reasons`: the server's own sentences about the outcome of an action, by how they are written in English, with
    `{...}` for a part that differs. `too_long` has {most} and {length}, both in characters. `fault` has {fault}, the id
    of a line of the log. `more_sources` has {count}, `line` {first}, `lines` {first} and {last}, `left` and `retry`
    {seconds}, `open_it` {place}.
    """

    title: str
    conversation: str
    hint: str
    quotes: str
    guide: str
    routes: str
    stories: str
    openers: str
    uploads: UploadTexts
    language: str
    auto: str
    question: str
    send: str
    stop: str
    clear: str
    copy: str
    copy_cited: str
    copied: str
    not_copied: str
    sources: str
    more_sources: str
    fewer_sources: str
    line: str
    lines: str
    open: str
    open_it: str
    shut: str
    whole: str
    loading: str
    source: SourceViewTexts
    too_long: str
    unsent: str
    fault: str
    stopped: str
    interrupted: str
    lost: str
    confirm: str
    decline: str
    ask_again: str
    left: str
    waiting: str
    unfilled: str
    locked: str
    token: str
    unlock: str
    wrong_token: str
    unusable_token: str
    retry: str
    state: States
    step: ProgressTexts
    debug: DebugTexts
    confidence: Confidences
    blocked: Blockings
    unread: str
    error: Errors
    close: Closings
    action: ActionTexts
    field: Fields
    yes: str
    no: str
    none: str
    recorded: str
    closed: Ends
    result: Results
    reasons: Mapping[str, str]
    memory: MemoryTexts
    feedback: FeedbackTexts
    voice: VoiceTexts
    embed: EmbedTexts
    threads: ThreadTexts
