"""Recorded steps: a model is asked at each step of a recorded episode, and its action compared."""
