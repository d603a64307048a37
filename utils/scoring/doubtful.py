"""Figures without doubtful rows, beside the official ones (`--mode eval --doubtful FILE`).

The file is that of `compare.py --headroom`: rows on whose answer strong runs agree, and the table
does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.contracts import question_of
from utils.errors import UserError
from utils.protocol import headline_figure
from utils.text import counted, format_interval, format_percent

SECTION = "without_doubtful"  # of an analysis
FORMAT = 2  # of the file: since 2 it names the annotations that its rows are of
MAKE_IT = "make one with compare.py RUN RUN RUN --headroom"


@dataclass(frozen=True)
class DoubtfulRows:
    """The content of a file of doubtful rows."""

    file: str  # its name
    datasets: Mapping[str, Mapping[str, Any]]

    def keys_of(self, dataset: str, sha256: str | None) -> set[str]:
        """Return the keys of the doubtful rows of a data set.

        Args:
            dataset: one that the file has.
            sha256: of the annotations that a run was made with.

        Raises:
            UserError: the rows are of other annotations.
        """
        entry = self.datasets[dataset]
        if sha256 not in entry["annotations"]:
            raise UserError(
                f"{dataset}: the rows of {self.file} are of other annotations than this run's "
                f"(SHA-256 {_listed(entry['annotations'])}, not {_listed([sha256])}); {MAKE_IT}"
            )
        return {str(row["key"]) for row in entry["doubtful"]}


def read_doubtful(path: Path) -> DoubtfulRows:
    """Read a file of doubtful rows.

    Raises:
        UserError: it is not there, no such file, or of another version.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"--doubtful {path}: there is no such file; {MAKE_IT}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"--doubtful {path}: cannot be read: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("datasets"), dict):
        raise UserError(f"--doubtful {path}: is no file of doubtful rows; {MAKE_IT}")
    if content.get("format") != FORMAT:
        raise UserError(
            f"--doubtful {path}: is of format {content.get('format')}, expected {FORMAT}; {MAKE_IT}"
        )
    return DoubtfulRows(path.name, content["datasets"])


def doubtful_problems(rows: DoubtfulRows, datasets: Sequence[str]) -> list[str]:
    """Say that a file has rows of none of the data sets of a run."""
    if any(name in rows.datasets for name in datasets):
        return []
    has = ", ".join(rows.datasets) or "no data set"
    return [f"--doubtful {rows.file}: has rows of {has}, not of {', '.join(datasets)}"]


def kept(keys: Sequence[str], doubtful: set[str]) -> list[bool]:
    """Return for each sample whether it stays when doubtful rows are left out."""
    return [question_of(key) not in doubtful for key in keys]


def section_of(
    file: str, sections: Mapping[str, Any], keys: Sequence[str], doubtful: set[str]
) -> dict[str, Any]:
    """Return the section of the analysis: the figure that stands for a data set without these rows.

    Args:
        file: where the rows are from.
        sections: the benchmark's, of the samples that are kept.
        keys: of all samples.
        doubtful: of the rows.
    """
    name, cell = headline_figure(sections)
    return {
        "title": "Without doubtful rows",
        "file": file,
        "left_out": len({question_of(key) for key in keys} & doubtful),
        "samples": sum(kept(keys, doubtful)),
        "name": name,
        "figure": cell,
    }


def heading(section: Mapping[str, Any]) -> str:
    """Return the name of a section's figure: `average without 12 doubtful rows of FILE`."""
    rows = counted(section["left_out"], "doubtful row")
    return f"{section['name']} without {rows} of {section['file']}"


def line_of(section: Mapping[str, Any]) -> str:
    """Return a section in one line for the console."""
    if not section["left_out"]:
        return f"none of the samples is a doubtful row of {section['file']}"
    if section["figure"] is None:
        return f"{section['left_out']:,} doubtful rows of {section['file']} leave no figure"
    bounds = format_interval(section["figure"])
    interval = f" ({bounds})" if bounds else ""
    value = f"{format_percent(section['figure']['value'])}{interval}"
    return f"{heading(section)}: {value}, n = {section['samples']:,}; not the official figure"


def _listed(checksums: Sequence[str | None]) -> str:
    return " or ".join(str(checksum)[:12] for checksum in checksums) or "unknown"
