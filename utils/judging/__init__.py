"""A second model that reads the replies in which the parse function found no letter."""
