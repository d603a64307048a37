"""MiniWoB++ as a suite of tasks."""
