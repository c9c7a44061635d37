"""Programs that fill a data folder with rows of every kind, each run by the code of the commit whose folder it makes.

They import nothing that is younger than the schema that they fill; see `tests/storage/released.py`.
"""
