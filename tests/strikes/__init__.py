"""Strikes on a running server: each scenario is cut off, reset or cancelled at every one of its steps.

`plots.py` lists the scenarios, `strikes.py` the ways to strike; `inject.py` runs a scenario once per step and strike in
a small server in memory (`lab.py`), and `census.py` says which invariant a run broke. Start reading in `inject.py`;
`python -m tests.strikes.inject` strikes everything.

Beside them stand the tools of other tests that break or watch a server: raw clients (`raw.py`), services of language
models that fail in every way (`upstream.py`, `spoken.py`), a cancel at a chosen step (`instrument.py`), the longest
steps of a loop (`steps.py`), and a bound in real seconds (`watchdog.py`).
"""
