"""Finds the past messages and memory items that fit a question (the port `agent.ports.recall.Recaller`).

Entry points: `recall.IndexRecaller` answers a search, `scope_index.ScopeIndex` makes the `RecallIndex` of a user (or of
a thread without one) from the store's rows, and `change_follower.ChangeFollower` tells it what changes. The
index itself is `agent.recall`.

Strategy: an index lives in memory, some 300 bytes a row besides the text, from its user's first question until it is
the least recently used of too many. Words, windows of neighbouring turns, character 4-grams and (with an embedder)
vectors each propose candidates, and one weighted sum ranks them. A search takes a millisecond over 100,000 turns.
Start reading at `recall`, then `search`. It may import the same packages as `agent.memory`, and imports no
other module of that.
"""
