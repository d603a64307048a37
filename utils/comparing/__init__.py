"""Finished runs side by side: leaderboards, paired differences, flipped samples.

runs → pairing, leaderboard → text, Markdown, CSV, page; `command` is the command line. Everything
is read from what the runs have written; no user's function runs and no data root is needed.
"""
