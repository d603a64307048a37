"""Finished runs side by side: score tables, paired differences, flipped samples, why they differ.

runs → boards, pairing → words, tables, files; why. Everything is read from what the runs have
written; no user's function runs and no data root is needed. The page is made in `utils/pages`.
"""
