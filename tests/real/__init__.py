"""A real language model, small and bad, against the whole server; run where one is installed, with `pytest -m real`.

`smollm.py` serves the model (`python -m tests.real.smollm PORT`), `test_real_model.py` asks it through a server, and
`recorded.py` records what it says, so that its answers can be played where it is not installed.
"""
