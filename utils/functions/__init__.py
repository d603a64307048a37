"""The user's functions: found, checked, called, fingerprinted."""
