"""The official figures of checkpoints over the steps of their training."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from utils.comparing.boards import in_order, main_figure
from utils.comparing.runs import requested_runs, without_work_dirs
from utils.errors import UserError
from utils.program import COMPARE
from utils.store.derived import MANIFEST_NAME, read_json
from utils.text import counted, format_interval, format_percent

STEP = re.compile(
    r"(?<![^\W\d_])"  # no letter before it: "arbiter2" has no step
    r"(?:global[-_]?steps?|steps?|checkpoints?|ckpts?|iterations?|iters?|epochs?)[-_=]?(\d+)(k?)",
    re.IGNORECASE,
)
EXPECTED = "step-1000, checkpoint_500, global_step20 or epoch3"


@dataclass(frozen=True, slots=True)
class CheckpointRun:
    """The run of one checkpoint, with its place in the training.

    Attributes:
        series: what the checkpoints of one training share of their names.
        datasets: entries of the manifest by data set; figures are in percent, with intervals.
    """

    series: str
    step: int
    model: str
    folder: Path
    datasets: Mapping[str, Mapping[str, Any]]

    def figures(self, dataset: str) -> Mapping[str, Mapping[str, Any]]:
        """Its official figures in a data set; empty where it has none."""
        return (self.datasets.get(dataset) or {}).get("figures") or {}

    def warnings(self, dataset: str) -> int:
        """The number of warnings about its score in a data set."""
        return int((self.datasets.get(dataset) or {}).get("warnings") or 0)

    def is_partial(self, dataset: str) -> bool:
        """Whether only a part of the data set was asked for."""
        return bool((self.datasets.get(dataset) or {}).get("partial"))


@dataclass(frozen=True, slots=True)
class Training:
    """Checkpoints by series and step, and what they were scored on.

    Attributes:
        levels: level by data set, in the order in which they are shown.
        notes: what was left out, and why.
    """

    checkpoints: Sequence[CheckpointRun]
    levels: Mapping[str, str]
    notes: Sequence[str]

    @property
    def series(self) -> list[str]:
        """The names of the trainings."""
        return list(dict.fromkeys(checkpoint.series for checkpoint in self.checkpoints))

    def scored_on(self, dataset: str) -> list[CheckpointRun]:
        """The checkpoints that have figures in a data set."""
        return [checkpoint for checkpoint in self.checkpoints if checkpoint.figures(dataset)]

    def figure_names(self, dataset: str) -> list[str]:
        """The names of a data set's figures, in the order of score tables."""
        return in_order(name for run in self.scored_on(dataset) for name in run.figures(dataset))

    def headline(self, dataset: str) -> str:
        """The name of the figure that runs are sorted by."""
        return main_figure(self.figure_names(dataset))

    def best(self, dataset: str) -> CheckpointRun | None:
        """The checkpoint with the highest headline, the first one of equals; None: all have 0."""
        headline = self.headline(dataset)
        value_by_run = [
            ((run.figures(dataset).get(headline) or {}).get("value") or 0.0, run)
            for run in self.scored_on(dataset)
        ]
        value, best = max(value_by_run, key=itemgetter(0))
        return best if value else None


def read_training(arguments: Sequence[str]) -> Training:
    """Read the runs of checkpoints: work-dirs, models' folders or runs, each also as NAME=folder.

    Raises:
        UserError: a folder is no run, or no two of them have a step.
    """
    paths, notes = without_work_dirs(arguments)
    checkpoints: list[CheckpointRun] = []
    for run in requested_runs(paths):
        manifest = read_json(run.folder / MANIFEST_NAME)
        model = str(manifest.get("model") or run.folder.parent.name)
        series_and_step = _place_of(run.name, model, manifest, run.folder)
        if series_and_step is None:
            notes.append(
                f"{run.path}: left out, because neither its name nor its checkpoint has a step. "
                f"To give it one: my-model-step-0={run.path}"
            )
            continue
        series, step = series_and_step
        datasets = manifest.get("datasets") or {}
        checkpoints.append(CheckpointRun(series, step, model, run.folder, datasets))
    if len(checkpoints) < 2:
        raise UserError(
            [
                f"--by-step needs two checkpoints or more, but only {len(checkpoints)} of "
                f"{counted(len(paths), 'run')} has a step in its name or its checkpoint's, such as "
                f"{EXPECTED}. Write the step before the folder: step-1000=outputs/my-model",
                *notes,
            ]
        )
    checkpoints.sort(key=lambda run: (run.series, run.step, str(run.folder)))
    levels = {
        dataset: str(entry.get("level") or "")
        for run in checkpoints
        for dataset, entry in run.datasets.items()
        if run.figures(dataset)
    }
    if not levels:
        raise UserError(["--by-step: no checkpoint has a figure; run --mode eval", *notes])
    ordered = sorted(levels, key=lambda dataset: (levels[dataset], dataset))
    return Training(checkpoints, {dataset: levels[dataset] for dataset in ordered}, notes)


def _place_of(
    name: str, model: str, manifest: Mapping[str, Any], folder: Path
) -> tuple[str, int] | None:
    """The series and the step of a run; None where nothing tells its step.

    The step stands in the name that the user gave, the model's name, the path of its checkpoint or
    that of the work-dir.
    """
    entry = ((manifest.get("config") or {}).get("model") or {}).get(model) or {}
    checkpoint = str(entry.get("model_path") or "") if isinstance(entry, dict) else ""
    work_dir = folder.resolve().parent.parent.name
    for text in (name, model, checkpoint, work_dir):
        matches = [*STEP.finditer(text)]
        if not matches:
            continue
        last = matches[-1]
        series = model
        if text in (name, model):
            # A name such as step1000 says nothing of its series.
            series = (text[: last.start()] + text[last.end() :]).strip("-_. ") or work_dir
        return series, int(last[1]) * (1000 if last[2] else 1)
    return None


def as_text(training: Training) -> str:
    """The tables of the console, one for each data set."""
    lines = list(training.notes)
    for dataset, level in training.levels.items():
        names = training.figure_names(dataset)
        title = dataset if level in ("", dataset) else f"{level} {dataset}"
        doubted = any(run.warnings(dataset) for run in training.scored_on(dataset))
        rows = [["series", "step", *names, *(["warnings"] if doubted else [])]]
        for run in training.scored_on(dataset):
            mark = " ‡" if run.is_partial(dataset) else ""
            cells = [_cell(run.figures(dataset).get(name)) for name in names]
            cells += [str(run.warnings(dataset) or "")] if doubted else []
            rows.append([run.series, f"{run.step:,}{mark}", *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines += ["", f"{title} · in %, 95 % intervals in brackets"]
        lines += ["  ".join(_aligned(row, widths)).rstrip() for row in rows]
        best = training.best(dataset)
        if best is not None:
            headline = training.headline(dataset)
            lines.append(f"highest {headline}: {best.series}, step {best.step:,}")
        if any(run.is_partial(dataset) for run in training.scored_on(dataset)):
            lines.append("‡ part of the data set")
        if doubted:
            lines.append("warnings: of audits, in the report of each run")
    folders = " ".join(str(run.folder) for run in training.checkpoints[-2:])
    lines += [
        "",
        "Steps with overlapping intervals may be equally good. The paired difference of two "
        f"steps is sharper: {COMPARE} {folders}",
    ]
    return "\n".join(lines) + "\n"


def _cell(figure: Mapping[str, Any] | None) -> str:
    interval = format_interval(figure)
    value = format_percent((figure or {}).get("value"))
    return f"{value} ({interval})" if interval else value


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Cells at their widths, the name at the left, numbers at the right."""
    return [
        text.ljust(width) if column == 0 else text.rjust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ]


def as_csv(training: Training) -> str:
    """One row for each figure of each checkpoint; values in percent."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    head = "series step model dataset level figure value low high samples partial warnings folder"
    writer.writerow(head.split())
    for dataset, level in training.levels.items():
        for run in training.scored_on(dataset):
            figures = run.figures(dataset)
            for name in in_order(figures):
                numbers = [figures[name].get(key) for key in ("value", "low", "high", "samples")]
                is_partial = run.is_partial(dataset)
                labels = [run.series, run.step, run.model, dataset, level, name]
                others = [is_partial, run.warnings(dataset), run.folder]
                writer.writerow([*labels, *numbers, *others])
    return file.getvalue()
