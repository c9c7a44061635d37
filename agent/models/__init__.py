"""Real language models (`agent.ports.model.LanguageModel`): one adapter a service, and what surrounds each.

`openai` and `anthropic` say how a service's requests and answers are written, without a network; `http` carries them;
`cli` asks a command instead. `patience`, `retry`, `breaker`, `fallback` and `record` are models that hold another one,
each for one concern; `open` puts them together as the settings say.
"""
