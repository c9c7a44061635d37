"""Defines the wire and the HTTP API as values: messages, bodies, routes, problems, and their published descriptions.
Pure.

`codec.py` turns frames into the messages of `inbound.py`, and those of `outbound.py` and `consult_frames.py` into
frames; `frame_faults.py` says how to mend a frame. `routes.py` lists the HTTP API as records of `route.py`, with the
shapes of `http.py` and `views.py`; `paths.py` finds the route of a path. `records.py` fills shapes from the records of
`agent.ports` by field name. `asyncapi.py` and `openapi.py` describe both interfaces in `diagrams/`.

Start reading in `inbound.py`. This room imports `agent.ports`, `agent.lang`, `agent.config` and `agent.errors`.
"""
