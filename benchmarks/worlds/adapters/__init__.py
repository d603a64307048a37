"""Published environments behind the door of `environment`; none was run on the real thing yet."""
