"""Examples of environments to copy and to mend. None of them was ever run on the real thing.

They were only held against the signatures of the packages, by tests with stand-ins.
"""
