"""The page that shows a run: scores, audits, every sample on its image; opens from disk."""
