"""A run as a whole: its plan, how it goes, its check, its manifest."""
