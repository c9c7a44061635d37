"""A load client for a server of the wire on this machine: thousands of sessions in one thread, for Linux.

`python -m tests.bench.load` puts a load on a server that runs already and says how it bore it; the other benches of
`tests.bench` start servers and measure them with the same parts. `client.py` is the epoll loop with its connections,
`line.py` one session on one of them, `workloads.py` the loads. `meter.py`, `process.py` and `counters.py` measure
times, processor time, memory and instructions; `report.py` and `chart.py` show them. Start reading in `workloads.py`.
"""
