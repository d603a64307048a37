"""What stands behind a score: one pass over a run's samples, one JSON file for each data set.

`<model>_<dataset>_analysis.json` holds the printed table with intervals, and one section for each
audit. The report page shows it, `load_run` returns it; like all derived files it is never read back
for a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.contracts import Collector
from utils.runs.finished import open_samples
from utils.scoring.sheets import finite

ANALYSIS_SUFFIX = "_analysis.json"


def analyse(samples: Path, collectors: dict[str, Collector]) -> dict[str, Any]:
    """Runs every collector over a samples file.

    Args:
        samples: as `utils.scoring.samples` describes it.
        collectors: by the name of their section; emptied.

    Returns:
        `{"head": head of the samples file, <name>: section, ...}`; a number that JSON does not have
        is None, for one odd figure may not cost the file.

    Raises:
        UserError: the file is missing or none of this kind.
    """
    with open_samples(samples) as (head, rows):
        for facts in rows:
            for collector in collectors.values():
                collector.add(facts)
        return {"head": head} | {name: finite(each.result()) for name, each in collectors.items()}


def warnings_of(analysis: Mapping[str, Any]) -> list[str]:
    """What every section warns of."""
    sections = (section for section in analysis.values() if isinstance(section, dict))
    return [str(warning) for section in sections for warning in section.get("warnings", ())]
