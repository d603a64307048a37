"""A second model that reads the replies which the official reader could not read."""
