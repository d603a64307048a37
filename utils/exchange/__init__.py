"""Answers in and out: files of other programs, read row by row, and results handed on.

`files.py` opens a file within limits, `formats/` knows what its rows mean, `matching.py` finds the
sample of each row, `gathering.py` does so for whole files and counts what it meets. `export/` has
the forms in which results of a run are handed on.
"""
