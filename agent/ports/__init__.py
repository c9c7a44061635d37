"""The interfaces between rooms, and the frozen values that cross them.

A room that implements a port imports it from here, and so does the room that uses it; neither knows the other. Only
`open.py` modules and the composition of a server name the adapters. `search.py`, `memory.py`, `conversation.py`,
`brain.py`, `tools.py` and `model.py` are used most. Start reading in `brain.py`. It imports `agent.lang` alone.
"""
