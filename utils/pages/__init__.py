"""Pages for people, which open from disk: the report of a run, a comparison, the list of all runs.

`assets/core` has the scripts and styles that all of them share.
"""
