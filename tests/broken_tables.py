"""State tables with one thing missing, to prove that the tests notice each row and each guard."""

from dataclasses import replace

from agent.fsm import D, G, S, StateTable, T, TransitionRow


def without_row(table: StateTable[S, T, G, D], row: TransitionRow[S, T, G, D]) -> StateTable[S, T, G, D]:
    """Return the table without `row`."""
    return replace(table, rows=tuple(each for each in table.rows if each is not row))


def without_guard(table: StateTable[S, T, G, D], row: TransitionRow[S, T, G, D]) -> StateTable[S, T, G, D]:
    """Return the table with the guard of `row` removed."""
    rows = tuple(replace(each, guard=None) if each is row else each for each in table.rows)
    return replace(table, rows=rows)
