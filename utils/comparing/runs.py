"""Reads the runs of a comparison from their folders, each with a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from utils.analysis.paired import MOST
from utils.contracts import Facts, Status, credits_of, question_of
from utils.errors import UserError
from utils.findings import warnings_in
from utils.program import EVALUATE
from utils.protocol import (
    ACTING,
    IMPORTED,
    MADE_ELSEWHERE,
    is_environment_failure,
    noun_of_question,
    official_figures,
    why_no_score,
)
from utils.store.derived import MANIFEST_NAME, ScoredFiles, read_json, whole_scorings
from utils.store.find import find_run, is_import, scored_runs
from utils.store.folder import COMPARISONS, INDEX
from utils.store.run_facts import REPORT_FOLDER, why_stopped
from utils.subsets import EVERYTHING, is_subset, shown_mode
from utils.text import counted, printable

LOGS = "[TI]*/*.jsonl"  # below the folder of a model: of runs and of imports
ANSWERS = "answers"  # of a sample that stands for several
PARITY = "parity"  # folder of a work-dir, of what --parity has found


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """One data set of one run: samples by key, in file order, official figures, score table."""

    level: str
    is_partial: bool
    is_weighted: bool  # by `L1_USE_WEIGHTED`
    # Where each question has several answers, one sample stands for them: see `_by_question`.
    # Samples that an import has no row for are not among them.
    samples: Mapping[str, Facts]
    figures: Mapping[str, Mapping[str, Any]]
    table: Mapping[str, Any]
    rules: Mapping[str, Any]  # figures of recorded steps by every rule; empty for other data
    rule_words: Mapping[str, Any]  # what these rules ask for; empty for other data
    doubts: Sequence[str]  # what audits say against the score, in a clause each
    has_score: bool = True  # False: too many samples have no answer, so no figure is shown
    has_pairs: bool = True  # False: too many of `samples` have no answer, so none is compared
    repeats: int = 1  # answers to each question
    mode: str = EVERYTHING
    without_row: int = 0  # samples that an import has no row for
    head: Mapping[str, Any] = field(default_factory=dict)  # of the analysis

    @property
    def wordings(self) -> list[str]:
        """The wordings in which its table asks for elements; [] where there is one only."""
        wordings = {str(facts.get("wording") or "") for facts in self.samples.values()}
        return sorted(wordings - {""})

    def notes(self) -> list[str]:
        """Notes that a reader of its figures must know."""
        noun = noun_of_question(self.level)
        notes: list[str] = []
        if self.is_partial:
            only = f", {shown_mode(self.mode)} only" if is_subset(self.mode) else ""
            notes.append(f"partial (‡), {counted(len(self.samples), noun)}{only}")
        if self.repeats > 1:
            answer, of, question = "answer", "to", "question"
            if self.level in ACTING:
                answer, of, question = "episode", "of", "task"
            notes.append(
                f"{self.repeats} {answer}s {of} each {question}. Differences use the mean of a "
                f"{question}'s {answer}s. A {question} is listed as right if most of its {answer}s "
                f"are right. The {answer} shown is one of this majority"
            )
        without_answer = _unanswered(self.samples.values())
        if without_answer:
            notes.append(f"{counted(without_answer, noun)} without an answer, counted as wrong")
        if self.without_row:
            notes.append(
                f"{counted(self.without_row, noun)} without a row in the imported file: wrong in "
                "its own score, left out of differences and lists"
            )
        if self.has_score and not self.table:
            notes.append("no score table; run --mode eval again")
        if self.is_weighted:
            notes.append("weighted by number of options (L1_USE_WEIGHTED)")
        return notes


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run under the name that it has in the comparison."""

    label: str
    model: str
    path: Path
    folder: str  # as it may be shown: below the current folder, or its last two parts
    sets: Mapping[str, ScoredSet]  # by name of the data set
    manifest: Mapping[str, Any]
    newer_runs: Sequence[str]  # the model's, which are incomplete; where it was not named itself
    older_runs: Sequence[str]  # likewise
    report: Path | None  # its page

    def entry(self, dataset: str) -> Mapping[str, Any]:
        """The manifest's entry of a data set; empty where it has none."""
        return (self.manifest.get("datasets") or {}).get(dataset) or {}

    def scored_by(self, dataset: str) -> str:
        """The rule, rows, level and history of recorded steps; "" of other data sets."""
        return str(self.sets[dataset].table.get("scored_by") or "")

    def notes(self) -> list[str]:
        """Notes that a reader of it must know."""
        notes: list[str] = []
        others = [*(f"{name} (newer, incomplete)" for name in self.newer_runs), *self.older_runs]
        if others:
            which = "the newest run with all samples" if self.newer_runs else "the newest run"
            notes.append(
                f"{self.label}: {self.folder}, {which}; there are also {', '.join(others)}"
            )
        for name, scored in self.sets.items():
            notes += [f"{self.label}, {name}: {note}" for note in scored.notes()]
            protocol = self.entry(name).get("protocol")
            if protocol == IMPORTED:
                notes.append(f"{self.label}, {name}: {MADE_ELSEWHERE}, scored here")
            elif protocol:
                notes.append(
                    f"{self.label}, {name}: {protocol}, more than one request for each sample"
                )
        for name, text in why_stopped(self.manifest, self.sets).items():
            notes.append(f"{self.label}, {name}: {text}")
        return notes


def without_work_dirs(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return runs with each work-dir replaced by its models, and a note on what is left out.

    What the program itself has written beside them, as in `outputs/*`, is passed over.
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
        # One of them may have been named before, as the baseline.
        runs += [str(model) for model in scored if model not in map(Path, runs)]
        notes += [
            f"{model}: left out, nothing was scored; run {EVALUATE} with its config again"
            for model in models
            if model not in scored
        ]
    return runs, notes


def _is_written_by_program(path: Path) -> bool:
    if path.name == INDEX:
        return path.is_file()
    has_our_name = path.name in (COMPARISONS, PARITY) and path.is_dir()
    return has_our_name and not any(path.glob(LOGS))


def _models_in(work_dir: Path) -> list[Path]:
    """Return the folders of models in a work-dir; none where the path is of a model or a run."""
    is_of_model = any(work_dir.glob("*.jsonl")) or any(work_dir.glob(LOGS))
    if is_of_model or not work_dir.is_dir():
        return []
    return sorted(folder for folder in work_dir.iterdir() if any(folder.glob(LOGS)))


@dataclass(frozen=True, slots=True)
class RequestedRun:
    """A run that a command line names."""

    name: str  # "" where none is given
    path: Path  # as it was given: of the run, its model or a work-dir
    folder: Path  # of the run itself


def read_runs(arguments: Sequence[str | Path]) -> list[ComparedRun]:
    """Return the runs that a command line names: folders, or NAME=folder.

    Raises:
        UserError: everything that is wrong with them, one line each.
    """
    requested = requested_runs([str(argument) for argument in arguments])
    files = [whole_scorings(run.folder) for run in requested]
    models = [next(iter(files_of_run.values())).model for files_of_run in files]
    labels = _labels(requested, models, [_rules_of(files_of_run) for files_of_run in files])
    return [
        _compared_run(run, label, model, files_of_run)
        for run, label, model, files_of_run in zip(requested, labels, models, files, strict=True)
    ]


def requested_runs(arguments: Sequence[str]) -> list[RequestedRun]:
    """The runs that arguments name: folders, or NAME=folder.

    Raises:
        UserError: everything that is wrong with them, one line each.
    """
    problems: list[str] = []
    requested: list[RequestedRun] = []
    for argument in arguments:
        name, _, path = argument.partition("=")
        if not name or not path or Path(argument).exists():  # a folder may have such a name
            name, path = "", argument
        try:
            run = RequestedRun(name, Path(path), find_run(Path(path)))
        except UserError as error:
            problems += error.problems
            continue
        for other in requested:
            if run.folder.samefile(other.folder):
                problems.append(f"{path}: is the same run as {other.path}; compare different ones")
            if name and name == other.name:
                problems.append(f"{name}=: two runs have this name; give each its own")
        requested.append(run)
    if problems:
        raise UserError(problems)
    return requested


def _compared_run(
    run: RequestedRun, label: str, model: str, files: Mapping[str, ScoredFiles]
) -> ComparedRun:
    scored = scored_runs(run.path)  # the newest first; of a run's own folder none
    position = scored.index(run.folder) if scored else 0
    page = run.folder / REPORT_FOLDER / "index.html"
    return ComparedRun(
        label=label,
        model=model,
        path=run.folder,
        folder=_folder_text(run.folder),
        sets={name: _scored_set(files_of_set) for name, files_of_set in files.items()},
        manifest=read_json(run.folder / MANIFEST_NAME),
        newer_runs=[folder.name for folder in scored[:position]],
        older_runs=[_with_state(folder) for folder in scored[position + 1 :]],
        report=page if page.is_file() else None,
    )


def _with_state(folder: Path) -> str:
    """The name of a run folder, marked where it has only a part of a data set."""
    is_part = any(folder.glob("*_samples_partial.jsonl"))
    return f"{folder.name} (incomplete)" if is_part else folder.name


def _scored_set(files: ScoredFiles) -> ScoredSet:
    samples = _by_question(files.facts())
    with_row = {key: facts for key, facts in samples.items() if _has_row(facts)}
    analysis = files.analysis
    head = analysis.get("head") or {}
    figures, table = official_figures(analysis), analysis.get("table") or {}
    rules = analysis.get("rules") or {}
    if "figures" not in rules:  # older versions had the rows alone
        rules = {}
    doubts = [finding.headline for finding in warnings_in(analysis)]
    no_score = _why_no_score(files.level, samples)
    if no_score:
        doubts.insert(0, f"no score: {no_score}")
        figures = {name: {"value": None} for name in figures}
        # How its official figure is made still holds for the samples that are compared.
        table, rules = {**table, "rows": []}, {}
    return ScoredSet(
        level=files.level,
        is_partial=files.is_partial,
        is_weighted=_holds_key(files.scores, "score_base"),
        samples=with_row,
        figures=figures,
        table=table,
        rules=rules,
        rule_words=analysis.get("rule_words") or {},
        doubts=doubts,
        has_score=not no_score,
        # A partial import has no score of the whole, but its rows can be compared.
        has_pairs=not _why_no_score(files.level, with_row),
        repeats=max((len(answers_to(facts)) for facts in samples.values()), default=1),
        mode=head.get("mode") or EVERYTHING,
        without_row=len(samples) - len(with_row),
        head=head,
    )


def _why_no_score(level: str, samples: Mapping[str, Facts]) -> str:
    answers = [answer for facts in samples.values() for answer in answers_to(facts)]
    return why_no_score(
        level,
        len(answers),
        without_answer=_unanswered(samples.values()),
        environment_failures=sum(map(is_environment_failure, answers)),
    )


def _by_question(facts_of_answers: Iterable[Facts]) -> dict[str, Facts]:
    """Return samples by key; several answers to a question as one sample.

    It is the first answer that agrees with most of them, right or wrong, with the means of their
    hits and credits; `ANSWERS` has all of them.
    """
    answers: dict[str, list[Facts]] = {}
    for facts in facts_of_answers:
        answers.setdefault(question_of(facts["key"]), []).append(facts)
    samples: dict[str, Facts] = {}
    for key, group in answers.items():
        samples[key] = group[0]
        if len(group) > 1:
            hit = fmean(facts["hit"] for facts in group)
            typical = next(facts for facts in group if bool(facts["hit"]) == (hit > MOST))
            samples[key] = {**typical, "key": key, "hit": hit, ANSWERS: group}
            if "credit" in typical:
                credits = credits_of(group)
                samples[key]["credit"] = fmean(credits) if credits else None
    return samples


def answers_to(facts: Facts) -> Sequence[Facts]:
    """Return the answers that a sample of a comparison stands for."""
    answers: Sequence[Facts] = facts.get(ANSWERS) or [facts]
    return answers


def _has_row(facts: Facts) -> bool:
    """Whether a run has asked a sample, or an import has a row for it."""
    return any(answer.get("status") != Status.MISSING for answer in answers_to(facts))


def right_text(facts: Facts) -> str:
    """The number of right answers to a sample, `2 of 3`; "" where it has one only."""
    answers = answers_to(facts)
    if len(answers) == 1:
        return ""
    return f"{sum(bool(answer['hit']) for answer in answers)} of {len(answers)}"


def _holds_key(scores: object, key: str) -> bool:
    """Whether some object of a score file has a key."""
    if not isinstance(scores, Mapping):
        return False
    return key in scores or any(_holds_key(value, key) for value in scores.values())


def _unanswered(samples: Iterable[Facts]) -> int:
    """The number of samples that failed, were refused, or lost their reply when postprocessed."""
    answers = (answer for facts in samples for answer in answers_to(facts))
    return sum(answer.get("verdict") is None for answer in answers)


def _labels(
    runs: Sequence[RequestedRun], models: Sequence[str], rules: Sequence[Mapping[str, str]]
) -> list[str]:
    """Return a name for each run: the given one or the model's, with what tells it from others.

    Args:
        runs: as they were named.
        models: of each run.
        rules: those that each run was scored by, by data set; only recorded steps have some.
    """
    names = {run.name for run in runs}
    labels: list[str] = []
    for run, model in zip(runs, models, strict=True):
        label = run.name
        if not label:
            is_shared = models.count(model) > 1 or model in names
            label = model
            if is_shared:
                alike = [number for number, other in enumerate(models) if other == model]
                own_text = _text_apart([runs[i] for i in alike], [rules[i] for i in alike], run)
                label = f"{model} ({own_text})"
        number = 2
        while label in labels or (label in names and not run.name):
            label = f"{model} ({run.folder.resolve().name}, {number})"
            number += 1
        labels.append(label)
    return [printable(label + _mark(run)) for label, run in zip(labels, runs, strict=True)]


def _text_apart(
    runs: Sequence[RequestedRun], rules: Sequence[Mapping[str, str]], run: RequestedRun
) -> str:
    """The label that distinguishes a run from others of its model: score rule, folder or work-dir.

    Args:
        runs: all runs of the model.
        rules: those of each run's scores, by data set.
        run: the run to label.
    """
    folders = [other.folder.resolve() for other in runs]
    names = [folder.name for folder in folders]
    work_dirs = [folder.parent.parent.name for folder in folders]
    datasets = dict.fromkeys(dataset for rules_of_run in rules for dataset in rules_of_run)
    differing = [
        dataset
        for dataset in datasets
        if len({rules_of_run.get(dataset) for rules_of_run in rules}) > 1
    ]
    rule_texts = [_rules_text(rules_of_run, differing) for rules_of_run in rules]
    candidates = [rule_texts, names, work_dirs] if all(rule_texts) else [names, work_dirs]
    for texts in candidates:
        if len(set(texts)) == len(runs):
            return texts[runs.index(run)]
    return run.folder.resolve().name


def _rules_of(files: Mapping[str, ScoredFiles]) -> dict[str, str]:
    """The rules that recorded steps were scored by, by data set; other data have none."""
    tables = {
        name: files_of_set.analysis.get("table") or {} for name, files_of_set in files.items()
    }
    return {name: table["rule"] for name, table in tables.items() if "rule" in table}


def _rules_text(rules: Mapping[str, str], datasets: Sequence[str]) -> str:
    """The rules of some data sets in words: `rule qwen`; "" where it has none of them."""
    names = list(dict.fromkeys(rules[dataset] for dataset in datasets if dataset in rules))
    return f"rule {', '.join(names)}" if names else ""


def _mark(run: RequestedRun) -> str:
    """The mark after the name of answers made elsewhere; "" for a run."""
    return f" ({IMPORTED})" if is_import(run.folder.resolve()) else ""


def _folder_text(folder: Path) -> str:
    """Return a folder's name for files that travel: never from the root of this machine."""
    path = folder.resolve()
    if path.is_relative_to(Path.cwd()):
        return str(path.relative_to(Path.cwd()))
    return "/".join(["…", *path.parts[-2:]])
