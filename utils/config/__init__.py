"""What the user said: command line, config file, environment."""
