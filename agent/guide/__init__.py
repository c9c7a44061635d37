"""The guide: pages of Markdown, for readers of the repository, of `agent guide` and of a server's `/guide`.

`pages.py` reads them. They stand in this package, so a wheel holds them too. The room imports nothing of `agent`;
the command and the server's page import it.
"""
