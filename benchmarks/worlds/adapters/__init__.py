"""Published environments behind the door of `environment`; none was ever run on the real thing."""
