"""Finished runs side by side: score tables, paired differences, flipped samples, why they differ.

runs → boards, pairing → words, page, files; why; `command` is the command line. Everything is
read from what the runs have written; no user's function runs and no data root is needed.
"""
