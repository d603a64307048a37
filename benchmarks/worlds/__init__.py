"""The live worlds in which the episodes of L3 and L4 take place."""
