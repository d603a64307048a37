"""Where the episodes of L3 and L4 act."""
