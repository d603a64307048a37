"""Images, their sizes and crops, and where on them a target lies."""
