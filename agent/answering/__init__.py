"""One turn, from question to verified answer: the Brains that a session asks (`agent.ports.brain`).

`brain.py` retrieves, drafts, verifies, and drafts once more or refuses; `draft_ways.py` has the ways from a draft to a
text that may be said. `deciding_brain.py` is the Brain with tools; `filling_brain.py` and `projects.py` stand around
another one. Start reading in `brain.py`. Models, indexes and stores are reached through ports only.
"""
