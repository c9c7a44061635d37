"""Triggers as data, from which each backend makes its own text, so that all databases refuse the same."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """A rule for the rows of `table` that the database itself enforces.

    `event` is as in "BEFORE UPDATE OF status". A row for which the condition `when` holds, or every row without one, is
    refused with the message `refusal`, or followed by the statement `follow_up`; with neither it is left out in
    silence. `indent`: spaces before the lines of the text, which files have from their first version on.
    """

    name: str
    table: str
    event: str
    when: str = ""
    refusal: str = ""
    follow_up: str = ""
    indent: int = 4
