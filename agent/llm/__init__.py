"""What stands between a turn and a language model: prompts, drafts, decisions, and the mocks that need no model.

`assembling.py` is the one place that makes a model's messages of what a turn knows; `drafter.py`, `model_decider.py`,
`claims.py`, `payloads.py` and `noting.py` ask the model. `mock.py` and `script.py` draft without one, and
`mock_decider.py` decides without one. `open.py` makes what the settings name. Start reading in `assembling.py`. The
models themselves are adapters of `agent.ports.model`, in `agent.models`.
"""
