"""Statistics of a score: intervals, paired comparison, audits. Pure; numpy only when used."""
