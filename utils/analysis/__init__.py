"""What stands behind a score: intervals, paired comparison, audits. Pure; numpy only when used."""
