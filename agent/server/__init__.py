"""The listening server: HTTP/1.1 and WebSockets on one port, the checks of every request, and all limits.

`serve.py` runs one guarded task per connection. `request_head.py` reads a request's head, `admission.py` and
`addresses.py` check it, `limits.py` and `capacity.py` decide about room. `http_server.py` routes plain requests to
`page_routes.py`, and to the services of `api/` behind the interface of `service.py`; `websocket.py` serves the
sessions' connections. `settings.py` has the settings and `metrics.py` the metrics. Start reading in `serve.py`, then
`http_server.py`. The room knows no model, index or database: it works on ports, `agent.protocol`, `agent.session`,
`agent.tools` and `agent.wire`.
"""
