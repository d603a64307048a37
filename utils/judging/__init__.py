"""A second model that reads the replies to L1 which the official reader could not read."""
