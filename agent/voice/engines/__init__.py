"""Holds the engines that speak and hear: adapters of `agent.ports.voice`, of which `open.py` imports those named.

`tone` and `script` are for tests and need nothing. Every other engine is a program of others: it runs in a process
group of its own, which is killed when its speech or its client ends.
"""
