"""The page that shows a run: scores, audits, every sample on its picture; opens from disk."""
