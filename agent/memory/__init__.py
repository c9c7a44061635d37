"""What is remembered: items that live by a table of their own, and how a user's words become proposals of them.

Strategy: all that decides is pure and takes values of `agent.ports.memory`; whoever keeps items asks here what may
happen to them. Nothing becomes true without its user, but events and metrics, whose time is limited. Nothing is ever
overwritten: a change is another item, which closes the one that it contradicts, and tells of it first.
"""
