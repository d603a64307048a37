"""What stands behind a score: intervals, paired comparison, audits. Pure; numpy only when used."""

from __future__ import annotations

from utils.analysis.intervals import FEWEST_PICTURES, Interval, interval
from utils.analysis.paired import PairedResult, compare_paired, holm

__all__ = ["FEWEST_PICTURES", "Interval", "PairedResult", "compare_paired", "holm", "interval"]
