"""Actions of agents, and how replies in every dialect become actions."""
