"""The HTTP API and the plain questions: handlers behind the interface of `agent.server.service.RouteService`.

`http_api.py` decodes a request, finds its handler by the route's name and writes the answer, as JSON or as the events
of `events.py`. The handlers are in `projects.py`, `documents.py`, `threads.py`, `calls.py` and `memory.py`;
`context.py` has their parameters, `views.py` and `pages.py` their results. `keys.py` finds the caller, `idempotency.py`
answers repeated requests and `answers.py` makes the answers of failures. `questions.py` serves `POST /ask` and the
OpenAI shape, `mcp.py` the tools of `POST /mcp`. Start reading in `http_api.py`. The handlers work on ports, and on
`agent.protocol` for the shapes of the wire.
"""
