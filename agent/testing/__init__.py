"""Fakes for tests of adapters that are written against this package's ports, and the scenes of `agent demo`.

`fakes.py`, `breakable.py`, `models.py`, `replies.py`, `fake_memory.py`, `vectors.py`, `mcp.py` and `network.py`
implement the ports in memory. `network.py` opens a whole server over streams in memory; the byte pipes of `faults.py`
below it can be slow, cut or reset. `wires.py` is the connection of one session without a server. Start reading in
`network.py`.

The room may import everything below `agent.soak`; of the code that users run, only `agent demo` and `agent soak`
import it.
"""
