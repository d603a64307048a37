"""Results of finished runs, for notebooks."""
