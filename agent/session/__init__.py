"""One connection as a session: a table of states, a core that decides without waiting, and the tasks around it.

`states.py` is the table; a transition that is not in it does not happen. `core.py` takes the facts of `events.py` and
returns the effects of `effects.py`, with no clock, no randomness and no await. `session.py` performs the effects and
owns the one turn that is alive (`turn.py`). `registry.py` knows the sessions that are connected. Start reading in
`states.py`, then `core.py`. The room knows no model, index, database or socket.
"""
