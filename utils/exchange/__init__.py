"""Answers that were made elsewhere: files of other programs, read row by row.

`files.py` opens a file within limits, `formats/` knows what its rows mean, `matching.py` finds the
sample of each row, `gathering.py` does so for whole files and counts what it meets.
"""
