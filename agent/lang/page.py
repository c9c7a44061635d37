"""What the chat page must be able to say in a language: one record, with one for each group of the wire's names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class States:
    """What a session is doing, beside "connecting", "disconnected" and "asleep", which only the page knows."""

    connecting: str
    disconnected: str
    asleep: str
    idle: str
    buffering: str
    streaming: str
    awaiting_confirmation: str
    executing: str


@dataclass(frozen=True, slots=True)
class Confidences:
    """How sure an answer is, by the wire's names."""

    low: str
    med: str
    high: str


@dataclass(frozen=True, slots=True)
class Blockings:
    """Why there is no answer, by the wire's codes."""

    no_sources: str
    memory_unread: str
    number_mismatch: str
    model_failed: str


@dataclass(frozen=True, slots=True)
class Errors:
    """What was not done, by the wire's codes."""

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


@dataclass(frozen=True, slots=True)
class Closings:
    """Why the connection ended, where that is worth a sentence; `agent.server.languages` knows the codes."""

    gone: str
    unwelcome: str
    too_long: str
    broken: str
    restarting: str


@dataclass(frozen=True, slots=True)
class Actions:
    """What each action does, by its name on the wire."""

    schedule_callback: str
    send_sms: str
    create_ticket: str


@dataclass(frozen=True, slots=True)
class Fields:
    """What a field of a payload or a result is called; others are called by their own names."""

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
    """Why a suggestion can no longer be confirmed, by the wire's names."""

    expired: str
    cancelled: str
    rejected: str
    answered: str


@dataclass(frozen=True, slots=True)
class Results:
    """How an action ended."""

    done: str
    failed: str
    unknown: str
    cancelled: str
    ignored: str
    expired: str


@dataclass(frozen=True, slots=True)
class Opened:
    """What is said of a source that is opened, in the page and in a page of its own. on has {line}, marked {lines}.

    locked, gone, unread, other: why it cannot be shown.
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


@dataclass(frozen=True, slots=True)
class Types:
    """The types of what is remembered, by their names."""

    fact: str
    rule: str
    decision: str
    open_loop: str
    idea: str
    event: str
    metric: str
    preference: str
    lesson: str


@dataclass(frozen=True, slots=True)
class Statuses:
    """How something stands that is, was or may be remembered, by the wire's names."""

    proposed: str
    accepted: str
    active: str
    blocked: str
    done: str
    rejected: str
    expired: str
    superseded: str
    forgotten: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a user may decide about something remembered, by the wire's names, as a button says it."""

    accept: str
    reject: str
    start: str
    done: str
    block: str
    unblock: str
    reopen: str


@dataclass(frozen=True, slots=True)
class Remembering:
    """What is said of what is remembered. since, until and cited have {day}, said {day} and {who}.

    message, document, tool: what it comes from, as the page says it to its user. you, agent, rule: who. leave: nothing
    is done. sure: asked before something is forgotten.
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
class Page:
    """Every word the page says.

    line has {first}, lines {first} and {last}, left and retry {seconds}, open_it {place}.
    """

    title: str
    conversation: str
    hint: str
    openers: str
    language: str
    auto: str
    question: str
    send: str
    stop: str
    clear: str
    copy: str
    copied: str
    not_copied: str
    sources: str
    line: str
    lines: str
    open: str
    open_it: str
    shut: str
    whole: str
    loading: str
    source: Opened
    stopped: str
    interrupted: str
    lost: str
    confirm: str
    decline: str
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
    confidence: Confidences
    blocked: Blockings
    unread: str
    error: Errors
    close: Closings
    action: Actions
    field: Fields
    yes: str
    no: str
    none: str
    recorded: str
    closed: Ends
    result: Results
    memory: Remembering
