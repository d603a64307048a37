"""Tasks written in OSWorld's JSON, with files of the user's own, on this desktop."""
