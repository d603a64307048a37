"""The output of a run: its folder and its log."""
