"""Examples of environments to copy and adapt. None was ever run on the real thing.

Tests with stand-ins compare them with the signatures of the packages.
"""
