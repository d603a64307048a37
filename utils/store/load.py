"""Results of a finished run, for notebooks.

    from evaluate import load_run
    run = load_run("outputs/my-model")
    run.table("<data set>")["value"].unstack()
    run.samples.groupby(["dataset", "platform"], observed=True)["hit"].mean()

Nothing here runs a user's function or needs the data; pandas is imported for the first frame.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.contracts import Facts, question_of, repeat_of
from utils.errors import UserError
from utils.geometry.images import expand_home
from utils.protocol import IMPORTED, MADE_ELSEWHERE
from utils.store.derived import (
    MANIFEST_NAME,
    ScoredFiles,
    no_score_text,
    read_json,
    whole_scorings,
)
from utils.store.find import find_run, is_import
from utils.store.records import error_text
from utils.text import format_interval, format_percent

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_COLUMNS = (
    "dataset",
    "key",
    "question",
    "repeat",
    "index",
    "id",
    "image",
    "platform",
    "app",
    "split",
    "kind",
    "text",
    "status",
    "verdict",
    "hit",
    "prediction",
    "raw",
    "reasoning",
    "options",
    "answer",
    "chosen",
    "answered",
    "expected",
    "box_frac",
    "point_frac",
    "declined",
    "details",
    "task",
    "tier",
    "feasible",
    "partial",
    "steps",
    "action_count",
    "ended",
    "apps",
    "checks",
    "trajectory",
    "cost",
    "last_image",
    "file_wh",
    "sent_wh",
    "seen_wh",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "latency_s",
    "attempts",
    "server",
    "asked_at",
    "error",
    "fingerprint",
    "prompt",
)


@dataclass(frozen=True, repr=False)
class RunResults:
    """The results of one run of one model."""

    folder: Path
    model: str  # its name in the config
    datasets: tuple[str, ...]  # that were scored
    partial: tuple[str, ...]  # data sets of which not all samples were scored
    # By data set: the score object as in its file; tables with intervals and audits.
    scores: Mapping[str, dict[str, Any]]
    analysis: Mapping[str, dict[str, Any]]
    # Config, versions, checksums, commands; empty for a run that has none.
    manifest: Mapping[str, Any]
    files: Mapping[str, ScoredFiles]  # where the derived files lie

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """Return the official figures in percent, by level, as far as the run has all their parts.

        Multiple choice: easy, medium, hard and overall; points: basic, advanced and average.
        """
        return {
            level: {name: cell["value"] for name, cell in cells.items()}
            for level, cells in self._cells().items()
        }

    def _cells(self) -> dict[str, dict[str, Any]]:
        return {level: entry["figures"] for level, entry in self._scored().items()}

    def _scored(self) -> dict[str, Any]:
        """The manifest's entries of the data sets that were scored, by level."""
        datasets = self.manifest.get("datasets", {})
        entries = [datasets.get(name, {}) for name in self.datasets]
        return {entry["level"]: entry for entry in entries if entry.get("figures") is not None}

    def __str__(self) -> str:
        """Return the model, its official figures in percent with intervals, and the folder."""
        lines = [self._title]
        for level, entry in self._scored().items():
            figures = []
            for name, cell in entry["figures"].items():
                interval = format_interval(cell)
                value = f"{name} {format_percent(cell['value'])}"
                figures.append(f"{value} [{interval}]" if interval else value)
            lines.append(f"  {level}: {', '.join(figures) or no_score_text(entry)}")
        return "\n".join([*lines, f"  {self.folder}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the same as a table; notebooks show it."""
        rows = ["<tr><th></th><th>figure</th><th>%</th><th>95 % interval</th></tr>"]
        for level, entry in self._scored().items():
            cells = entry["figures"].items()
            if not cells:
                rows.append(_html_row(level, no_score_text(entry), "", ""))
            for name, cell in cells:
                percent = format_percent(cell["value"])
                rows.append(_html_row(level, name, percent, format_interval(cell)))
        folder = escape(str(self.folder))
        table = f"<table><caption>{escape(self._title)}</caption>{''.join(rows)}</table>"
        return f"{table}<p><code>{folder}</code></p>"

    @property
    def imported(self) -> Mapping[str, Any] | None:
        """The origin of imported answers: file, sha256, format, ...; None for a run."""
        origin: Mapping[str, Any] | None = self.manifest.get(IMPORTED)
        return {} if origin is None and is_import(self.folder) else origin

    @property
    def _title(self) -> str:
        origin = "" if self.imported is None else f" ({MADE_ELSEWHERE})"
        return f"{self.model}{' (partial)' if self.partial else ''}{origin}"

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Return one row per scored sample, over all data sets, in file order.

        The columns are the fields of the samples file (`scoring/samples.py`), with two changes:
        `prompt_tokens` and `completion_tokens` replace `usage`, and `error` is a string. A field
        that a level does not have is None. With `repeats`, the answers to one question share its
        `question` and have a number in `repeat`.
        """
        import pandas as pd

        rows = [_row(name, facts) for name, files in self.files.items() for facts in files.facts()]
        frame = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
        for column in ("prompt_tokens", "completion_tokens", "latency_s", "attempts"):
            frame[column] = pd.to_numeric(frame[column])
        frame["hit"] = frame["hit"].astype(int)
        frame["asked_at"] = pd.to_datetime(frame["asked_at"], utc=True, format="ISO8601")
        return frame

    def table(self, dataset: str) -> pd.DataFrame:
        """Return the printed table of a data set, one row per figure.

        The index is `row` (a difficulty, a grounding type, ...) and `column` (a platform or
        "Overall"); `.table(d)["value"].unstack()` has the printed form. The columns are `value`,
        `low`, `high` in percent (95 % interval by image), `samples` and `images`. Empty cells are
        left out.

        Raises:
            UserError: the run was not scored on this data set, or its analysis is gone.
        """
        import pandas as pd

        if dataset not in self.datasets:
            scored = ", ".join(self.datasets)
            raise UserError(f"{self.folder}: was not scored on {dataset!r}; scored: {scored}")
        table = self.analysis[dataset].get("table")
        numbers = ("value", "low", "high")
        if not table:
            raise UserError(f"{self.folder}: {dataset} has no table yet; run --mode eval again")
        cells = [
            {"row": row["name"], "column": column, **cell}
            for row in table["rows"]
            for column, cell in zip(table["columns"], row["cells"], strict=True)
            if cell is not None
        ]
        orders = {"row": [row["name"] for row in table["rows"]], "column": table["columns"]}
        frame = pd.DataFrame(cells, columns=[*orders, *numbers, "samples", "pictures"])
        frame = frame.rename(columns={"pictures": "images"})
        for name, order in orders.items():
            frame[name] = pd.Categorical(frame[name], order)
        return frame.set_index([*orders]).astype(dict.fromkeys(numbers, float))


class ResultsOfModels(list[RunResults]):
    """The results of each model of a run; `print` shows their figures."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no results"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the same as tables; notebooks show it."""
        return "".join(results._repr_html_() for results in self)


def load_run(folder: str | Path) -> RunResults:
    """Load a finished run, without its model, its data or user functions.

    Args:
        folder: folder of a run; or folder of a model, for its newest run.

    Raises:
        UserError: there is no such run, or nothing was scored.
    """
    path = find_run(expand_home(folder))
    return _results(path, whole_scorings(path))


def results_written(folder: Path, model: str, datasets: Collection[str]) -> RunResults:
    """Return the results that a run has just written for some data sets of its folder."""
    files = whole_scorings(folder, newest=True)
    return _results(folder, {name: files[name] for name in files if name in datasets}, model)


def _results(folder: Path, files: Mapping[str, ScoredFiles], model: str = "") -> RunResults:
    return RunResults(
        folder=folder,
        model=next((scored.model for scored in files.values()), model),
        datasets=tuple(files),
        partial=tuple(name for name, scored in files.items() if scored.is_partial),
        scores={name: scored.scores for name, scored in files.items()},
        analysis={name: scored.analysis for name, scored in files.items()},
        manifest=read_json(folder / MANIFEST_NAME),
        files=dict(files),
    )


def _html_row(*texts: str) -> str:
    return f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in texts)}</tr>"


def _row(dataset: str, facts: Facts) -> dict[str, Any]:
    error = facts.get("error")
    why = error_text(error) if error else None
    flat = {**(facts.get("usage") or {}), **facts, "dataset": dataset, "error": why}
    flat["question"] = question_of(facts["key"])
    flat["repeat"] = repeat_of(facts["key"])
    return {name: flat.get(name) for name in SAMPLE_COLUMNS}
