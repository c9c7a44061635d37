"""The bytes of one WebSocket on their way out, and the counting of those that come in.

`outbox.py` holds what waits for one client, and only it writes; `pulse.py` is the one clock of everything that is said
with a pace; `frames.py` makes frames; `bucket.py` and `meter.py` limit what a client sends; `life.py` is the table of a
connection's life. Start reading in `outbox.py`. It imports `agent.fsm`, `agent.config` and `agent.errors`.
"""
