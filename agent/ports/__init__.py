"""Declares the interfaces between rooms and the frozen records that cross them.

A room that implements a port imports it from here, and so does a room that uses it; neither imports the other. Only
`open.py` modules and `agent.compose` name the adapters. A record here is the one form of its thing: `memory.Item` is a
memory item and `calls.StoredCall` a call in every layer, and `agent.protocol.records` makes the views from them.

Start reading in `brain.py`, then `search.py`, `memory.py`, `conversation.py`, `tools.py` and `model.py`. This room
imports `agent.lang` alone.
"""
