"""The user's settings: command line, config file, environment."""
