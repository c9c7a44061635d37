"""The record of all texts of the page of approvers, with one record for each group of names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxStates:
    """The states of the connection to the server. `retry` has {seconds}."""

    connecting: str
    live: str
    offline: str
    retry: str
    locked: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxStatuses:
    """The statuses of calls, by the wire's names."""

    suggested: str
    confirmed: str
    claimed: str
    done: str
    failed: str
    unknown: str
    cancelled: str
    rejected: str
    expired: str
    answered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEvents:
    """The decisions about calls, by the wire's names."""

    approved: str
    edited: str
    rejected: str
    answered: str
    cancelled: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRisks:
    """The risks of tools, by the wire's names."""

    low: str
    medium: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSources:
    """The sources of arguments, by the wire's names."""

    user: str
    schema: str
    thread: str
    memory: str
    snippet: str
    result: str
    clock: str
    free: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxReasons:
    """The reasons for an approval, by the wire's names."""

    definition: str
    model: str
    risk: str
    provenance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxErrors:
    """The reasons why a decision was not taken, by the wire's codes."""

    closed: str
    expired: str
    begun: str
    arguments_changed: str
    bad_edit: str
    bad_request: str
    not_found: str
    turn_in_progress: str
    rate_limited: str
    storage: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxTexts:
    """All texts of the page. The names in braces are filled in: `{count}`, `{name}`, `{time}` and others."""

    title: str
    waiting_tab: str
    history_tab: str
    views: str
    language: str
    auto: str
    settings: str
    shut: str
    back: str
    named: str
    name: str
    name_why: str
    save: str
    decide_as: str
    locked: str
    token: str
    unlock: str
    wrong_token: str
    revoked: str
    filters: str
    tool: str
    risk: str
    user: str
    project: str
    any: str
    waiting: str
    shown_of: str
    nothing: str
    no_match: str
    lately: str
    pick: str
    asked_by: str
    words: str
    forgotten: str
    words_cut: str
    arguments: str
    no_arguments: str
    source: str
    whole: str
    why: str
    deadline: str
    left: str
    over: str
    days: str
    hours: str
    minutes: str
    seconds: str
    accept: str
    edit: str
    reject: str
    answer: str
    run_edited: str
    send_reject: str
    send_answer: str
    leave: str
    next: str
    reason: str
    answer_label: str
    to_fill: str
    required: str
    unset: str
    yes: str
    no: str
    one_a_line: str
    as_json: str
    bad_number: str
    bad_whole: str
    bad_json: str
    too_empty: str
    sending: str
    decided: str
    first: str
    a_program: str
    ended: str
    copy: str
    copied: str
    not_copied: str
    result: str
    reply: str
    sound: str
    notify: str
    notify_denied: str
    keys: str
    notice: str
    since: str
    until: str
    event: str
    approver: str
    key: str
    time: str
    call: str
    hash: str
    because: str
    show: str
    more: str
    csv: str
    jsonl: str
    no_history: str
    history: str
    cut_export: str
    state: InboxStates
    statuses: InboxStatuses
    events: InboxEvents
    risks: InboxRisks
    sources: InboxSources
    reasons: InboxReasons
    errors: InboxErrors
