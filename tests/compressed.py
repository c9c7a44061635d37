"""Compressed files of the pages, shared by all the servers of a run.

A server compresses each file of its pages once, when it starts: some 15 ms in all. A run of the tests starts more than
a thousand servers, whose files are the same bytes, and compressing and hashing them anew took a tenth of its time.
"""

from functools import cache

from agent.server import page_routes


def share_compressed() -> None:
    """Let every server that starts from now on find the files, and their tags, that another has made."""
    for name in ("compress", "make_tag"):
        vars(page_routes)[name] = cache(vars(page_routes)[name])
