"""Pure statistics of hits on pictures: intervals, paired comparison, many comparisons.

Questions about one picture share its difficulty, so everything here counts by picture. No files,
no environment; numpy is imported when something is computed.
"""

from __future__ import annotations

from utils.analysis.intervals import FEWEST_PICTURES, Interval, interval
from utils.analysis.multiple import holm
from utils.analysis.paired import PairedResult, compare_paired

__all__ = ["FEWEST_PICTURES", "Interval", "PairedResult", "compare_paired", "holm", "interval"]
