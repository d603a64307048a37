"""Asking: jobs in, records out."""
