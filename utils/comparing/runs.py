"""The runs of a comparison, read from their folders, each with a name of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.contracts import Facts, Status
from utils.errors import UserError, printable
from utils.functions.fingerprints import digest
from utils.runs.finished import (
    ScoredFiles,
    find_run,
    read_json,
    read_manifest,
    scored_files,
    scored_runs,
)

_TRUTH = ("text", "split", "platform", "options", "answer", "box_frac", "file_wh")


@dataclass(frozen=True, slots=True)
class SampleResult:
    """One scored sample, as far as comparing needs it.

    Attributes:
        truth: hash of the question and of what is right; two runs are compared where it is equal.
        image: the samples of one image are no independent evidence.
        weight: (n-1)/n for a question with n options, what `L1_USE_WEIGHTED` weighs by; else 1.
        has_answer: False for a failed or refused request, which counts as wrong.
    """

    hit: int
    truth: str
    image: str
    platform: str
    split: str
    weight: float
    has_answer: bool

    @classmethod
    def of(cls, facts: Facts) -> SampleResult:
        """A line of a samples file."""
        options = facts.get("options")
        return cls(
            hit=int(facts["hit"]),
            truth=digest([facts.get(name) for name in _TRUTH])[:16],
            image=str(facts["image"]),
            platform=str(facts["platform"]),
            split=str(facts["split"]),
            weight=(len(options) - 1) / len(options) if options else 1.0,
            has_answer=facts["status"] == Status.OK,
        )


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """One data set of one run; `samples` by key, in file order; `table` as its analysis has it."""

    files: ScoredFiles
    samples: Mapping[str, SampleResult]
    table: Mapping[str, Any]
    is_weighted: bool

    @classmethod
    def of(cls, files: ScoredFiles) -> ScoredSet:
        """Reads the derived files of a data set."""
        samples = {facts["key"]: SampleResult.of(facts) for facts in files.facts()}
        is_weighted = "'score_base'" in str(files.scores)  # of `L1_USE_WEIGHTED`
        return cls(files, samples, files.analysis.get("table") or {}, is_weighted)

    def facts_of(self, keys: Iterable[str]) -> dict[str, Facts]:
        """The whole lines of some samples."""
        wanted = set(keys)
        return {facts["key"]: facts for facts in self.files.facts() if facts["key"] in wanted}


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run under the name that it has in the comparison.

    Attributes:
        folder: as it may be shown: below the current folder, or its last two parts.
        sets: by name of the data set.
        others: folders of the model's other runs, where its newest one was not named itself.
    """

    label: str
    model: str
    folder: str
    sets: Mapping[str, ScoredSet]
    manifest: Mapping[str, Any]
    others: Sequence[str] = ()

    def of_data(self, dataset: str, entry: str) -> Mapping[str, Any]:
        """What the manifest has of a data set, such as its "annotations"; {} where it has not."""
        found = ((self.manifest.get("datasets") or {}).get(dataset) or {}).get(entry)
        return found or {}

    @property
    def origin(self) -> str:
        """Where its files are, when its answers came, and with which state of the project."""
        asking = self.manifest.get("asking") or {}
        git = asking.get("git") or {}
        known = [
            self.folder,
            f"run on {asking['started_at'][:10]}" if asking.get("started_at") else "",
            f"commit {git['commit'][:8]}" if git.get("commit") else "",
        ]
        return ", ".join(filter(None, known)) + (" with changes" if git.get("dirty") else "")

    def notes(self) -> list[str]:
        """What a reader must know about the figures of this run."""
        others = f"; there are also {', '.join(self.others)}"
        found = [f"{self.label}: {self.folder}, the newest run{others}"] if self.others else []
        for name, scored in self.sets.items():
            without = sum(not sample.has_answer for sample in scored.samples.values())
            known = [
                f"partial, {counted(len(scored.samples))}" if scored.files.is_partial else "",
                f"{counted(without)} without an answer, wrong in the score" if without else "",
                "" if scored.table else "no score table; run --mode eval again",
                "weighted by number of options (L1_USE_WEIGHTED)" if scored.is_weighted else "",
            ]
            found += [f"{self.label}, {name}: {each}" for each in known if each]
        return found


def counted(samples: int) -> str:
    """ "1 sample", "2 samples"."""
    return f"{samples} sample{'' if samples == 1 else 's'}"


def read_runs(arguments: Sequence[str | Path]) -> list[ComparedRun]:
    """The runs that a command line names: folders, or NAME=folder.

    Raises:
        UserError: everything that is wrong with them, one line each.
    """
    problems: list[str] = []
    names: list[str] = []
    given: list[str] = []
    runs: list[Path] = []
    for text in map(str, arguments):
        name, _, rest = text.partition("=")
        if not name or not rest or Path(text).exists():  # a folder may have such a name
            name, rest = "", text
        try:
            run = find_run(Path(rest))
        except UserError as error:
            problems += error.problems
            continue
        except OSError as error:
            problems.append(f"{rest}: cannot be read: {error.strerror or error}")
            continue
        if name and name in names:
            problems.append(f"{name}=: two runs have this name; give each its own")
        same = [other for other, known in zip(given, runs, strict=True) if known.samefile(run)]
        problems += [f"{rest}: is the same run as {other}; a run compared with itself says nothing"
                     for other in same]  # fmt: skip
        names.append(name)
        given.append(rest)
        runs.append(run)
    if problems:
        raise UserError(problems)
    sets = [{n: ScoredSet.of(files) for n, files in scored_files(run).items()} for run in runs]
    models = [next(iter(own.values())).files.model for own in sets]
    return [
        ComparedRun(
            label, model, _shown(run), own, read_manifest(run, read_json),
            [other.name for other in scored_runs(Path(rest)) if other != run],
        )
        for label, model, run, own, rest in zip(
            _labels(names, models, runs), models, runs, sets, given, strict=True)
    ]  # fmt: skip


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
