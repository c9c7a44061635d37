"""Vectors of texts (`agent.ports.embed`): static ones, those of a BERT, and those of a server.

`open.py` names the embedder that the settings ask for, and imports numpy only then: `static.py` and `bert.py` compute
here, from the files that `weights.py` and `shape.py` read, and `served.py` asks another server. Start reading in
`open.py`. Nothing but `open.py` and the settings is imported from outside.
"""
