"""Published data sets and where they are fetched from; what others have published about them."""
