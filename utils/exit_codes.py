"""Exit codes of `evaluate.py`."""

DONE, SOME_FAILED, NOTHING_RUN, INTERRUPTED = 0, 1, 2, 130
