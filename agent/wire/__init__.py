"""The outgoing bytes of one WebSocket, and the limits on incoming ones.

`outbox.py` queues the frames for one client, and only it writes them; `pulse.py` is the one clock of all texts that are
streamed with a pace; `frames.py` builds frames; `bucket.py` and `meter.py` limit a client's frames; `life.py` is the
state table of a connection. Start reading in `outbox.py`. The room imports `agent.fsm`, `agent.config` and
`agent.errors`.
"""
