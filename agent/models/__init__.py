"""Language models (`agent.ports.model.LanguageModel`): one adapter per service, and the models that wrap another model.

`openai.py` and `anthropic.py` write a service's requests and read its answers, without a network (`shape.py` is their
protocol); `http.py` carries them, and `sse.py`, `lines.py` and `encoding.py` cut and decode the bytes. `cli.py` asks a
command instead. `model_wrappers.py`, `breaker.py` and `record.py` wrap another model, each class for one concern, and
`open.py` assembles them as `settings.py` says. Start reading in `open.py`. The room imports `agent.ports`,
`agent.process`, `agent.http_client`, `agent.config` and `agent.errors`.
"""
