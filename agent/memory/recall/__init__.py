"""Finds the past messages and memory items that fit a question (the port `agent.ports.recall.Recaller`).

Entry points: `recall.IndexRecaller` answers a search, `index_follower.IndexFollower` keeps its `index.RecallIndex` up
to date with the store.

Strategy: the index lives in memory, some 300 bytes a row besides the text, and is rebuilt from the store's rows at
every start. Words, windows of neighbouring turns, character 4-grams and (with an embedder) vectors each propose
candidates, and one weighted sum ranks them. A search takes a millisecond over 100,000 turns.
Start reading at `recall`, then `query` and `index`. It may import the same packages as `agent.memory`, and imports no
other module of that.
"""
