"""Embeddings of texts and words (`agent.ports.embed`): static ones, those of a BERT model, and those of a server.

Entry points: `choose`, `open_embedder`, `open_words`, `open_meaning` and `open_near` in `open.py`. They choose the
embedder that the settings name, and import numpy only then. `static.py` (`Static`) and `bert.py` (`Bert`) compute in
this process, from the files that `weights.py` and `shape.py` read; `served.py` (`ServedEmbedder`) asks a server;
`threaded.py` (`Threaded`) runs an `Encoder` in worker threads. Start reading in `open.py`.
Only `open.py` and the settings are imported by other rooms.
"""
