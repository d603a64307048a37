"""What a finished run left in its folder, for reports, comparisons and notebooks.

    from evaluate import load_run
    run = load_run("outputs/my-model")
    run.table("GUIElementGrounding")["value"].unstack()
    run.samples.groupby(["dataset", "platform"], observed=True)["hit"].mean()

Nothing here runs a user's function or needs the data; pandas is imported for the first frame. Where
a folder holds full and partial files of a data set, it stands for the full ones.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils.contracts import Facts
from utils.errors import UserError
from utils.images import at_home
from utils.protocol import noun_of, shown_accuracy, shown_range
from utils.runs.log import runs_of
from utils.runs.records import error_text
from utils.runs.seals import file_of_another_scoring

if TYPE_CHECKING:
    import pandas as pd

MANIFEST_NAME = "manifest.json"
SAMPLES_SUFFIX = "_samples.jsonl"
SAMPLES_FORMAT = 1
NO_SCORE = "no score: most {}s have no answer"
SAMPLE_COLUMNS = (
    "dataset",
    "key",
    "index",
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
    "box_frac",
    "point_frac",
    "file_wh",
    "sent_wh",
    "seen_wh",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "latency_s",
    "attempts",
    "asked_at",
    "error",
    "fingerprint",
    "prompt",
)


@dataclass(frozen=True, slots=True)
class ScoredFiles:
    """The derived files of one data set; the first four fields are those of the samples file."""

    dataset: str
    level: str
    model: str
    is_partial: bool
    samples: Path
    is_sealed: bool = False  # the manifest has its checksum, and that of the files beside it

    @property
    def analysis(self) -> dict[str, Any]:
        """Tables and audits, by section; empty without such a file."""
        return read_json(self.beside("analysis"))

    @property
    def scores(self) -> dict[str, Any]:
        """The score object; empty if its file is gone."""
        return read_json(self.beside("score")) or read_json(self.beside("scores"))

    def facts(self) -> Iterator[Facts]:
        """The samples in file order, one at a time."""
        return islice(_lines(self.samples), 1, None)

    def rotations(self) -> Iterator[list[Facts]]:
        """For each sample in file order its question in every rotation; nothing without them."""
        path = self._rotations_file
        rows = islice(_lines(path), 1, None) if path.exists() else ()
        return (list(turns) for _, turns in groupby(rows, itemgetter("question")))

    @property
    def _rotations_file(self) -> Path:
        before, _, after = self.samples.name.rpartition("_samples")
        return self.samples.with_name(f"{before}_rotations{after}")

    def problem(self, manifest: Mapping[str, Any]) -> str | None:
        """Say why these files may not be read together, if that is so.

        Args:
            manifest: of their folder.
        """
        candidates = [
            self.samples,
            self.beside("analysis"),
            self.beside("score"),
            self.beside("scores"),
            self._rotations_file,
        ]
        paths = [path for path in candidates if path.exists()]
        try:
            foreign = file_of_another_scoring(paths, manifest, is_sealed=self.is_sealed)
        except OSError as error:
            return f"{self.samples.parent}: {self.dataset} cannot be read: {error}"
        if foreign is None:
            return None
        why = f"{foreign.name} is not the file that {MANIFEST_NAME} tells of"
        what = f"a scoring of {self.dataset} was interrupted or is still going on ({why})"
        cure = "run evaluate.py with the same --config, --work-dir and --mode eval"
        return f"{self.samples.parent}: {what}; {cure}, which makes no requests"

    def beside(self, kind: str) -> Path:
        """The file of another kind ("analysis", "score") of the same samples."""
        stem, _, ending = self.samples.name.rpartition("_samples")
        return self.samples.with_name(f"{stem}_{kind}{ending.removesuffix('.jsonl')}.json")


def scored_files(folder: Path, *, newest: bool = False) -> dict[str, ScoredFiles]:
    """The data sets that a run's folder has scored samples of, by name, in order of level.

    Args:
        newest: of a full and a partial set take the one that was written last.
    """
    found: dict[str, ScoredFiles] = {}
    paths = _samples_in(folder)
    if newest:
        paths.sort(key=lambda path: -path.stat().st_mtime_ns)
    for path in paths:
        head = next(_lines(path))
        dataset, level, model = (str(head[name]) for name in ("dataset", "level", "model"))
        is_sealed = bool(head.get("sealed"))
        files = ScoredFiles(dataset, level, model, bool(head["partial"]), path, is_sealed)
        found.setdefault(dataset, files)
    return dict(sorted(found.items(), key=lambda item: item[1].level))


def whole_scorings(folder: Path, *, newest: bool = False) -> dict[str, ScoredFiles]:
    """The data sets as `scored_files` has them, none of which mixes two scorings.

    Raises:
        UserError: one does, because a scoring was interrupted or is still going on.
    """
    files = scored_files(folder, newest=newest)
    manifest = read_json(folder / MANIFEST_NAME)
    problems = [scored.problem(manifest) for scored in files.values()]
    if any(problems):
        raise UserError([problem for problem in problems if problem])
    return files


def _samples_in(folder: Path) -> list[Path]:
    """The samples files of a folder, full ones first."""
    return [*folder.glob(f"*{SAMPLES_SUFFIX}"), *folder.glob("*_samples_partial.jsonl")]


def _lines(path: Path) -> Iterator[Facts]:
    """The head of a samples file, then its samples."""
    line_number = 0
    cure = "run --mode eval again"
    try:
        with path.open("rb") as file:  # split at \n only; all else is escaped
            for line_number, line in enumerate(file, start=1):
                values = json.loads(line)
                if line_number == 1 and (
                    not isinstance(values, dict) or values.get("format") != SAMPLES_FORMAT
                ):
                    raise UserError(f"{path}: is not a samples file of this version; {cure}")
                yield values
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError:
        what = f"line {line_number} is cut off or damaged"
        raise UserError(f"{path}: {what}; {cure}") from None
    if line_number == 0:
        raise UserError(f"{path}: is empty; {cure}")


def read_json(path: Path, *, must_be_whole: bool = True) -> dict[str, Any]:
    """A JSON object; empty if there is no such file, or a broken one that need not be whole.

    Raises:
        UserError: it is there, must be whole, and cannot be read.
    """
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        value = error
    if not isinstance(value, dict) and must_be_whole:
        why = f"cannot be read: {value}" if isinstance(value, OSError) else "is not a JSON object"
        raise UserError(f"{path}: {why}; run --mode eval again")
    return value if isinstance(value, dict) else {}


def find_run(path: Path) -> Path:
    """The folder of a run: `path` itself, or the newest run of the model whose folder it is.

    Of those that have a part of their data sets the newest that has all of them stands in.

    Raises:
        UserError: there is none, nothing in it was scored, or which is the newest is not known.
    """
    if runs := scored_runs(path):  # before `path`: a model's folder links to the newest files
        problem = doubtful_order(runs)
        if problem is not None:
            raise UserError(f"{path}: {problem}; name the folder of the run that you mean")
        names = [each.name.rpartition("_samples")[0] for each in _samples_in(runs[0])]
        return fuller_run(runs[0], names) or runs[0]
    if _samples_in(path):
        return path
    expected = "<work-dir>/<model>/T<date>_G<commit>, or <work-dir>/<model> for its newest run"
    why = f"is not a run folder; expected {expected}"
    if not path.exists():
        why = "there is no such folder"
    elif any(map(newest_start, [path, *_folders(path)])):
        how = "evaluate.py with the same --config, --work-dir and --mode eval"
        why = f"has a log but no scored samples; run {how}, which makes no requests"
    raise UserError(f"{path}: {why}")


def scored_runs(model_folder: Path) -> list[Path]:
    """The runs of a model that were scored, the newest first."""
    runs = [
        folder
        for folder in _folders(model_folder)  # a model's own folder has links alone
        if not all(each.is_symlink() for each in _samples_in(folder))
    ]
    return sorted(runs, key=newest_start, reverse=True)


def doubtful_order(folders: Sequence[Path]) -> str | None:
    """Say why the first of some run folders may not be the newest, if that is so.

    Runs are ordered by their numbers, whatever clocks say, and no two of a model share one. Two
    that do show that a folder was away when a run began, or comes from another work-dir.

    Args:
        folders: of one model, the newest first.
    """
    if not folders:
        return None
    newest, *others = folders
    starts = _starts(newest)
    for other in others:
        starts_of_other = _starts(other)
        shared = starts.keys() & starts_of_other.keys()
        if shared and max(starts_of_other.values()) > max(starts.values()):
            return (
                f"which run is the newest is not known: {newest.name} holds run {max(starts)}, "
                f"but {other.name} was started later, and both hold a run {max(shared)}, as after "
                "moving folders between work-dirs"
            )
    return None


def _starts(folder: Path) -> dict[int, str]:
    """When each run in a folder was started, by its number."""
    runs = [run for log in _logs_in(folder) for run in runs_of(log)]
    return {run.seq: run.begin["started_at"] for run in runs}


def _logs_in(folder: Path) -> list[Path]:
    # The folder of a model links to its newest logs.
    return [log for log in folder.glob("*.jsonl") if not log.is_symlink()]


def fuller_run(run: Path, stems: Collection[str]) -> Path | None:
    """The newest run of the same model with full results of data sets that `run` has less of.

    Args:
        stems: how the files of these data sets begin.
    """

    def is_full(folder: Path) -> bool:
        return all((folder / f"{stem}{SAMPLES_SUFFIX}").exists() for stem in stems)

    others = () if is_full(run) else filter(is_full, _folders(run.parent))
    return max(others, key=newest_start, default=None)


def newest_start(folder: Path) -> tuple[Any, ...]:
    """The place of the newest run in a folder among its model's; empty without a log."""
    runs = [run for log in _logs_in(folder) for run in runs_of(log)]
    return max(((run.seq, run.begin["started_at"]) for run in runs), default=())


def _folders(path: Path) -> list[Path]:
    found = path.iterdir() if path.is_dir() else ()
    return sorted(entry for entry in found if entry.is_dir() and not entry.is_symlink())


@dataclass(frozen=True)
class RunResults:
    """The results of one run of one model."""

    folder: Path
    model: str  # its name in the config
    datasets: tuple[str, ...]  # that were scored
    partial: tuple[str, ...]  # data sets of which not all samples were scored
    # By data set: the score object as in its file; tables with intervals and audits.
    scores: Mapping[str, dict[str, Any]] = field(repr=False)
    analysis: Mapping[str, dict[str, Any]] = field(repr=False)
    # Config, versions, checksums, commands; empty for a run that has none.
    manifest: Mapping[str, Any] = field(repr=False)
    files: Mapping[str, ScoredFiles] = field(repr=False)  # where the derived files lie

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """The official figures in percent, by level: L1 easy, medium, hard and overall, L2 basic,
        advanced and average; those that the run has all parts of."""
        return {
            level: {name: cell["value"] for name, cell in cells.items()}
            for level, cells in self._cells().items()
        }

    def _cells(self) -> dict[str, dict[str, Any]]:
        found = (self.manifest.get("datasets", {}).get(name, {}) for name in self.datasets)
        known = (entry for entry in found if entry.get("figures") is not None)
        return {entry["level"]: entry["figures"] for entry in known}

    def __str__(self) -> str:
        """The model, its official figures in percent with their intervals, and the folder."""
        lines = [f"{self.model}{' (partial)' if self.partial else ''}"]
        for level, cells in self._cells().items():
            shown = (
                f"{name} {shown_accuracy(cell['value'])}" + f" [{bounds}]" * bool(bounds)
                for name, cell in cells.items()
                for bounds in [shown_range(cell)]
            )
            lines.append(f"  {level}: {', '.join(shown) or NO_SCORE.format(noun_of(level))}")
        return "\n".join([*lines, f"  {self.folder}"])

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per scored sample, over all data sets, in file order.

        Columns: those of the samples file (`scoring/samples.py`), None where a level has no such
        field; but `prompt_tokens` and `completion_tokens` stand for `usage`, `error` is a string.
        """
        import pandas as pd

        rows = [_row(name, facts) for name, each in self.files.items() for facts in each.facts()]
        frame = pd.DataFrame(rows, columns=list(SAMPLE_COLUMNS))
        for column in ("prompt_tokens", "completion_tokens", "latency_s", "attempts"):
            frame[column] = pd.to_numeric(frame[column])
        frame["hit"] = frame["hit"].astype(int)
        frame["asked_at"] = pd.to_datetime(frame["asked_at"], utc=True, format="ISO8601")
        return frame

    def table(self, dataset: str) -> pd.DataFrame:
        """The printed table of a data set, one row per figure.

        Index: `row` (a difficulty, a grounding type, ...) and `column` (a platform or "Overall");
        `.table(d)["value"].unstack()` looks as it was printed. Columns: `value`, `low`, `high` in
        percent (95 % interval by image), `samples`, `images`. Empty cells are left out.

        Raises:
            UserError: the run was not scored on this data set, or its analysis is gone.
        """
        import pandas as pd

        if dataset not in self.datasets:
            scored = ", ".join(self.datasets)
            raise UserError(f"{self.folder}: was not scored on {dataset!r}; scored: {scored}")
        table, numbers = self.analysis[dataset].get("table"), ("value", "low", "high")
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


def load_run(folder: str | Path) -> RunResults:
    """Reads a finished run; no model, no data root and no function of yours is needed.

    Args:
        folder: of a run, or of a model: its newest run then. A `UserError` if nothing was scored.
    """
    path = find_run(at_home(folder))
    return _results(path, whole_scorings(path))


def results_written(folder: Path, model: str, datasets: Collection[str]) -> RunResults:
    """The results that a run has just written for some data sets; its folder may hold more."""
    files = whole_scorings(folder, newest=True)
    return _results(folder, {name: files[name] for name in files if name in datasets}, model)


def _results(folder: Path, files: Mapping[str, ScoredFiles], model: str = "") -> RunResults:
    return RunResults(
        folder=folder,
        model=next((each.model for each in files.values()), model),
        datasets=tuple(files),
        partial=tuple(name for name, each in files.items() if each.is_partial),
        scores={name: each.scores for name, each in files.items()},
        analysis={name: each.analysis for name, each in files.items()},
        manifest=read_json(folder / MANIFEST_NAME),
        files=dict(files),
    )


def _row(dataset: str, facts: Facts) -> dict[str, Any]:
    error = facts.get("error")
    why = error_text(error) if error else None
    flat = {**(facts.get("usage") or {}), **facts, "dataset": dataset, "error": why}
    return {name: flat.get(name) for name in SAMPLE_COLUMNS}


@contextmanager
def errors_for_callers() -> Iterator[None]:
    """Errors leave without secrets; streams and hooks are the caller's again afterwards."""
    before = (sys.stdout, sys.stderr, sys.excepthook, threading.excepthook)
    try:
        yield
    except UserError as error:
        clean = getattr(sys.stderr, "clean", str)
        raise type(error)([clean(problem) for problem in error.problems]) from None
    finally:
        sys.stdout, sys.stderr, sys.excepthook, threading.excepthook = before
