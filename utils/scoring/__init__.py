"""From the log to scores, files and what is printed."""
