"""The wire and the HTTP API as values: messages, bodies, routes, problems, and the documents that describe them. Pure.

`codec.py` turns frames into the messages of `inbound.py` and those of `outbound.py` into frames; `routes.py` is the
table of the HTTP API, with the shapes of `http.py` and `views.py`. `asyncapi.py` and `openapi.py` draw both into
`diagrams/`. Start reading in `inbound.py`. It imports `agent.ports`, `agent.lang`, `agent.config` and `agent.errors`.
"""
