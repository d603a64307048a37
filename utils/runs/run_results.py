"""A finished run for notebooks: scores, tables and samples, as pandas frames.

    from evaluate import load_run
    run = load_run("outputs/my-model")
    run.table("GUIElementGrounding")["value"].unstack()
    run.samples.groupby(["dataset", "platform"], observed=True)["hit"].mean()

pandas is imported when the first frame is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.config.environment import at_home
from utils.contracts import Facts
from utils.errors import UserError
from utils.runs.finished import ScoredFiles, find_run, read_manifest, scored_files
from utils.scoring.samples import open_samples

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_COLUMNS = (
    "dataset", "key", "index", "image", "platform", "app", "split", "kind", "text", "status",
    "verdict", "hit", "prediction", "raw", "reasoning", "options", "answer", "chosen", "box_frac",
    "point_frac", "file_wh", "sent_wh", "seen_wh", "finish_reason", "prompt_tokens",
    "completion_tokens", "latency_s", "attempts", "asked_at", "error", "fingerprint", "prompt",
)  # fmt: skip
CELL_COLUMNS = ("value", "low", "high", "samples", "pictures")


@dataclass(frozen=True)
class RunResults:
    """What one run of one model came to.

    Attributes:
        folder: the run's folder.
        model: its name in the config.
        datasets: those that were scored, by name.
        scores: the score object of each data set, as in its score file (L1 in 0..1, L2 in percent).
        analysis: the sections of each data set's analysis: tables with intervals, audits.
        manifest: config, versions, checksums, commands. Empty for a run that
            has none.
        partial: data sets of which not all samples were scored.
    """

    folder: Path
    model: str
    datasets: tuple[str, ...]
    partial: tuple[str, ...]
    scores: Mapping[str, dict[str, Any]] = field(repr=False)
    analysis: Mapping[str, dict[str, Any]] = field(repr=False)
    manifest: Mapping[str, Any] = field(repr=False)
    files: Mapping[str, ScoredFiles] = field(repr=False)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row a scored sample, over all data sets, in file order.

        Columns: `dataset`, then the fields of the samples file (`scoring/samples.py`), None where a
        level has no such field. Different from there: `prompt_tokens` and `completion_tokens` stand
        for `usage`, `error` is a text, `asked_at` a time in UTC.
        """
        import pandas as pd

        rows = [_row(name, facts) for name in self.datasets for facts in _facts(self.files[name])]
        frame = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
        for column in ("prompt_tokens", "completion_tokens", "latency_s", "attempts"):
            frame[column] = pd.to_numeric(frame[column])
        frame["hit"] = frame["hit"].astype(int)
        frame["asked_at"] = pd.to_datetime(frame["asked_at"], utc=True, format="ISO8601")
        return frame

    def table(self, dataset: str) -> pd.DataFrame:
        """The printed table of a data set, one row a figure.

        Index: `row` (a difficulty, a grounding type, ...) and `column` (a platform or "Overall"),
        in the order of the table, so that `.table(d)["value"].unstack()` looks as it was printed.
        Columns: `value`, `low`, `high` in percent (95 % interval by picture, NaN where there are
        too few), `samples`, `pictures`. Cells in which nothing was counted are left out.

        Raises:
            UserError: the run was not scored on this data set, or before there were tables.
        """
        import pandas as pd

        table = self._analysed(dataset)
        found = [
            (row["name"], column, cell)
            for row in table["rows"]
            for column, cell in zip(table["columns"], row["cells"], strict=True)
            if cell is not None
        ]
        names = [row["name"] for row in table["rows"]]
        index = pd.MultiIndex.from_arrays(
            [
                pd.Categorical([row for row, _, _ in found], dict.fromkeys(names)),
                pd.Categorical([column for _, column, _ in found], table["columns"]),
            ],
            names=["row", "column"],
        )
        cells = [{name: cell.get(name) for name in CELL_COLUMNS} for _, _, cell in found]
        frame = pd.DataFrame(cells, index=index, columns=list(CELL_COLUMNS))
        return frame.astype({"value": float, "low": float, "high": float})

    def _analysed(self, dataset: str) -> Mapping[str, Any]:
        if dataset not in self.datasets:
            scored = ", ".join(self.datasets) or "none"
            raise UserError(f"{self.folder}: was not scored on {dataset!r}; scored: {scored}")
        table = self.analysis[dataset].get("table")
        if not table:
            raise UserError(f"{self.folder}: {dataset} has no table yet; run --mode eval again")
        return table  # type: ignore[no-any-return]


def load_run(folder: str | Path) -> RunResults:
    """Reads a finished run; no model, no data root and no function of yours is needed.

    Args:
        folder: of a run, or of a model: its newest run then.

    Raises:
        UserError: there is no run, or it has not been scored.
    """
    path = find_run(at_home(folder))
    return results_in(path, scored_files(path))


def results_in(folder: Path, files: Mapping[str, ScoredFiles], model: str = "") -> RunResults:
    """The results that some derived files of a folder hold; `model` for when there are none."""
    return RunResults(
        folder=folder,
        model=next((each.model for each in files.values()), model),
        datasets=tuple(files),
        partial=tuple(name for name, each in files.items() if each.is_partial),
        scores={name: each.scores for name, each in files.items()},
        analysis={name: each.analysis for name, each in files.items()},
        manifest=read_manifest(folder, files),
        files=dict(files),
    )


def _facts(files: ScoredFiles) -> Iterator[Facts]:
    with open_samples(files.samples) as (_, rows):
        yield from rows


def _row(dataset: str, facts: Facts) -> dict[str, Any]:
    usage, error = facts.get("usage") or {}, facts.get("error")
    changed = {
        "dataset": dataset,
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "error": f"{error['class']}: {error['message']}" if error else None,
    }
    return {name: facts.get(name) for name in SAMPLE_COLUMNS} | changed
