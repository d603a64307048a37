"""The runs of a comparison, read from their folders, each with a name of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.contracts import Facts
from utils.errors import UserError
from utils.findings import warnings_in
from utils.protocol import has_score, noun_of, official_figures
from utils.report.all_runs import COMPARISONS, INDEX
from utils.report.run_facts import REPORT_FOLDER, stops
from utils.runs.derived import MANIFEST_NAME, ScoredFiles, read_json, whole_scorings
from utils.runs.find import find_run, scored_runs
from utils.text import counted, printable

PARITY = "parity"  # folder of a work-dir, of what --parity has found


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """One data set of one run: samples by key, in file order, official figures, score table."""

    level: str
    is_partial: bool
    is_weighted: bool  # by `L1_USE_WEIGHTED`
    samples: Mapping[str, Facts]
    figures: Mapping[str, Mapping[str, Any]]
    table: Mapping[str, Any]
    doubts: Sequence[str]  # what audits say against the score, in a clause each
    has_score: bool = True  # False: most samples have no answer, so no figure is shown

    def notes(self) -> list[str]:
        """What a reader must know about its figures."""
        without, noun = _unanswered(self.samples), noun_of(self.level)
        missing = f"{counted(without, noun)} without an answer, wrong in the score"
        notes = [
            f"partial (‡), {counted(len(self.samples), noun)}" if self.is_partial else "",
            missing if without else "",
            "" if self.table or not self.has_score else "no score table; run --mode eval again",
            "weighted by number of options (L1_USE_WEIGHTED)" if self.is_weighted else "",
        ]
        return [note for note in notes if note]


@dataclass(frozen=True, slots=True)
class OtherRun:
    """Another run of a model than the one that is compared."""

    name: str  # of its folder
    is_newer: bool  # and so incomplete

    def __str__(self) -> str:
        return f"{self.name} (newer, incomplete)" if self.is_newer else self.name


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run under the name that it has in the comparison."""

    label: str
    model: str
    path: Path
    folder: str  # as it may be shown: below the current folder, or its last two parts
    sets: Mapping[str, ScoredSet]  # by name of the data set
    manifest: Mapping[str, Any]
    others: Sequence[OtherRun]  # the model's other runs, where it was not named itself
    report: Path | None  # its page

    def entry(self, dataset: str) -> Mapping[str, Any]:
        """What the manifest says of a data set; empty where it says nothing."""
        return (self.manifest.get("datasets") or {}).get(dataset) or {}

    def notes(self) -> list[str]:
        """What a reader must know about it."""
        found = []
        if self.others:
            which = "the newest run"
            if any(other.is_newer for other in self.others):
                which += " with all samples"
            names = ", ".join(map(str, self.others))
            found.append(f"{self.label}: {self.folder}, {which}; there are also {names}")
        for name, scored in self.sets.items():
            found += [f"{self.label}, {name}: {note}" for note in scored.notes()]
        stopped = stops(self.manifest, self.sets).items()
        return found + [f"{self.label}, {name}: {text}" for name, text in stopped]


def runs_meant(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the runs that a command line names, and a note on each thing that is left out.

    A work-dir stands for the models in it. What the program itself has written beside them, as in
    `outputs/*`, is passed over.
    """
    runs: list[str] = []
    notes: list[str] = []
    for text in arguments:
        path = Path(text)
        if _is_written_by_program(path):
            notes.append(f"{text}: left out, it holds no run")
            continue
        models = _models_in(path)
        scored = [model for model in models if scored_runs(model)]
        if not scored:
            runs.append(text)
            continue
        runs += map(str, scored)
        notes += [
            f"{model}: left out, nothing was scored" for model in models if model not in scored
        ]
    return runs, notes


def _is_written_by_program(path: Path) -> bool:
    if path.name == INDEX:
        return path.is_file()
    is_ours = path.name in (COMPARISONS, PARITY) and path.is_dir()
    return is_ours and not any(path.glob("T*/*.jsonl"))


def _models_in(work_dir: Path) -> list[Path]:
    """The folders of models in a work-dir; none where the path is of a model or a run itself."""
    is_of_model = any(work_dir.glob("*.jsonl")) or any(work_dir.glob("T*/*.jsonl"))
    if is_of_model or not work_dir.is_dir():
        return []
    return sorted(folder for folder in work_dir.iterdir() if any(folder.glob("T*/*.jsonl")))


def read_runs(arguments: Sequence[str | Path]) -> list[ComparedRun]:
    """The runs that a command line names: folders, or NAME=folder.

    Raises:
        UserError: everything that is wrong with them, one line each.
    """
    problems: list[str] = []
    found: list[tuple[str, Path, Path]] = []  # the name if one is given, the folder, the run's
    for text in map(str, arguments):
        name, _, given = text.partition("=")
        if not name or not given or Path(text).exists():  # a folder may have such a name
            name, given = "", text
        try:
            run = find_run(Path(given))
        except UserError as error:
            problems += error.problems
            continue
        for other_name, other, other_run in found:
            if run.samefile(other_run):
                problems.append(f"{given}: is the same run as {other}; compare different ones")
            if name and name == other_name:
                problems.append(f"{name}=: two runs have this name; give each its own")
        found.append((name, Path(given), run))
    if problems:
        raise UserError(problems)
    files = [whole_scorings(run) for _, _, run in found]
    models = [next(iter(each.values())).model for each in files]
    labels = _labels([name for name, _, _ in found], models, [run for _, _, run in found])
    return [
        ComparedRun(
            label=label,
            model=model,
            path=run,
            folder=_shown(run),
            sets={name: _scored_set(each) for name, each in own.items()},
            manifest=read_json(run / MANIFEST_NAME),
            others=[
                OtherRun(other.name, is_newer=run in scored[place:])
                for place, other in enumerate(scored)
                if other != run
            ],
            report=page if (page := run / REPORT_FOLDER / "index.html").is_file() else None,
        )
        for label, model, own, (_, given, run) in zip(labels, models, files, found, strict=True)
        for scored in [scored_runs(given)]
    ]


def _scored_set(files: ScoredFiles) -> ScoredSet:
    samples = {facts["key"]: facts for facts in files.facts()}
    analysis = files.analysis
    figures, table = official_figures(analysis), analysis.get("table") or {}
    doubts = [finding.headline for finding in warnings_in(analysis)]
    without_answer = _unanswered(samples)
    is_scored = has_score(without_answer, len(samples))
    if not is_scored:
        noun = noun_of(files.level)
        doubts.insert(0, f"no score: {without_answer} of {len(samples)} {noun}s have no answer")
        figures = {name: {"value": None} for name in figures}
        table = {}
    return ScoredSet(
        level=files.level,
        is_partial=files.is_partial,
        is_weighted=_holds_key(files.scores, "score_base"),
        samples=samples,
        figures=figures,
        table=table,
        doubts=doubts,
        has_score=is_scored,
    )


def _holds_key(scores: object, key: str) -> bool:
    """Return whether some object of a score file has a key."""
    if not isinstance(scores, Mapping):
        return False
    return key in scores or any(_holds_key(value, key) for value in scores.values())


def _unanswered(samples: Mapping[str, Facts]) -> int:
    """How many failed, were refused, or lost their reply in the postprocess function."""
    return sum(facts.get("verdict") is None for facts in samples.values())


def _labels(names: Sequence[str], models: Sequence[str], runs: Sequence[Path]) -> list[str]:
    """A name for each run: the one given, else the model's, with the run's folder where needed."""
    labels: list[str] = []
    for name, model, run in zip(names, models, runs, strict=True):
        folder = run.resolve().name
        is_shared = models.count(model) > 1 or model in names
        label, number = name or (f"{model} ({folder})" if is_shared else model), 2
        while label in labels or (label in names and not name):
            label, number = f"{model} ({folder}, {number})", number + 1
        labels.append(label)
    return list(map(printable, labels))


def _shown(folder: Path) -> str:
    """A folder's name for files that travel: never from the root of this machine."""
    whole = folder.resolve()
    if whole.is_relative_to(Path.cwd()):
        return str(whole.relative_to(Path.cwd()))
    return "/".join(["…", *whole.parts[-2:]])
