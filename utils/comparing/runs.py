"""The runs of a comparison, read from their folders, each with a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.contracts import Facts, Status
from utils.errors import UserError
from utils.functions.fingerprints import digest
from utils.runs.finished import ScoredFiles, find_run, open_samples, read_manifest, scored_files

_TRUTH = ("text", "split", "platform", "options", "answer", "box_frac", "file_wh")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One scored sample, as far as comparing needs it.

    Attributes:
        truth: hash of what was asked and what is right; two runs are compared where it is equal.
        picture: the samples of one picture are no independent evidence.
        weight: (n-1)/n for a question with n options, what `L1_USE_WEIGHTED` weighs by; else 1.
        has_answer: False for a failed or refused request, which counts as wrong.
    """

    hit: int
    truth: str
    picture: str
    platform: str
    split: str
    weight: float
    has_answer: bool


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """One data set of one run; `outcomes` by sample key, in file order."""

    files: ScoredFiles
    outcomes: Mapping[str, Outcome]
    scores: Mapping[str, Any]
    analysis: Mapping[str, Any]

    @property
    def is_weighted(self) -> bool:
        """Whether its score weighs questions by their number of options."""
        blocks = [block for block in self.scores.values() if isinstance(block, dict)]
        return any("score_base" in cell for block in blocks for cell in block.values()
                   if isinstance(cell, dict))  # fmt: skip

    @property
    def without_answer(self) -> int:
        """Samples whose request failed or was refused."""
        return sum(not outcome.has_answer for outcome in self.outcomes.values())


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run under the name that it has in the comparison.

    Attributes:
        folder: as it may be shown: below the current folder, or its last three parts.
        sets: by name of the data set.
        manifest: see `utils.runs.manifest`; empty for a run without one.
    """

    label: str
    model: str
    folder: str
    sets: Mapping[str, ScoredSet]
    manifest: Mapping[str, Any]

    @property
    def origin(self) -> str:
        """Where its files are, when its answers came, and with which state of the project."""
        asking = self.manifest.get("asking") or {}
        git = asking.get("git") or {}
        told = [self.folder]
        if asking.get("started_at"):
            told.append(f"asked {asking['started_at'][:10]}")
        if git.get("commit"):
            changed = " with changes" if git.get("dirty") else ""
            told.append(f"commit {git['commit'][:8]}{changed}")
        return ", ".join(told)

    def notes(self) -> list[str]:
        """What a reader must know about the figures of this run."""
        found = []
        for name, scored in self.sets.items():
            if scored.files.is_partial:
                found.append(f"{self.label}, {name}: partial, {len(scored.outcomes)} samples")
            if scored.without_answer:
                count = scored.without_answer
                some = "1 sample" if count == 1 else f"{count} samples"
                found.append(f"{self.label}, {name}: {some} without an answer, wrong in the score")
        return found


def read_runs(arguments: Sequence[str]) -> list[ComparedRun]:
    """The runs that a command line names: folders, or NAME=folder.

    Raises:
        UserError: everything that is wrong with them, one line each.
    """
    problems: list[str] = []
    found: list[tuple[str | None, Path, str]] = []
    for text in arguments:
        name, given = _split_name(text)
        try:
            found.append((name, find_run(given), text))
        except UserError as error:
            problems += error.problems
        except OSError as error:
            problems.append(f"{given}: cannot be read: {error.strerror or error}")
    seen: dict[Path, str] = {}
    for _, folder, text in found:
        other = seen.setdefault(folder.resolve(), text)
        if other is not text:
            problems.append(
                f"{text}: is the same run as {other}; a run compared with itself says nothing"
            )
    if problems:
        raise UserError(problems)
    files = [scored_files(folder) for _, folder, _ in found]
    models = [next(iter(each.values())).model for each in files]
    labels = _labels([name for name, _, _ in found], models, [folder for _, folder, _ in found])
    return [
        _read(label, model, folder, each)
        for label, model, (_, folder, _), each in zip(labels, models, found, files, strict=True)
    ]


def facts_of_keys(files: ScoredFiles, keys: Iterable[str]) -> dict[str, Facts]:
    """The whole lines of some samples; all lines of a run may be more than memory holds."""
    wanted = set(keys)
    with open_samples(files.samples) as (_, rows):
        return {facts["key"]: facts for facts in rows if facts["key"] in wanted}


def _split_name(text: str) -> tuple[str | None, Path]:
    """`NAME=folder`, unless there is a folder of just that name."""
    name, sign, folder = text.partition("=")
    if not sign or not name or Path(text).exists():
        return None, Path(text)
    return name, Path(folder)


def _labels(
    names: Sequence[str | None], models: Sequence[str], folders: Sequence[Path]
) -> list[str]:
    """A name for each run: the one given, else the model's, with the run's folder where needed.

    Raises:
        UserError: two runs were given the same name.
    """
    twice = [name for name, count in Counter(filter(None, names)).items() if count > 1]
    if twice:
        raise UserError([f"{name}=: two runs have this name; give each its own" for name in twice])
    shared = {model for model, count in Counter(models).items() if count > 1} | {*names}
    labels: list[str] = []
    for name, model, folder in zip(names, models, folders, strict=True):
        label = name or (f"{model} ({folder.resolve().name})" if model in shared else model)
        number = 2
        taken = {*labels, *(other for other in names if other and other != name)}
        while label in taken:
            label = f"{name or model} ({folder.resolve().name}, {number})"
            number += 1
        labels.append(label)
    return labels


def _read(label: str, model: str, folder: Path, files: Mapping[str, ScoredFiles]) -> ComparedRun:
    sets = {}
    for name, each in files.items():
        with open_samples(each.samples) as (_, rows):
            outcomes = {facts["key"]: _outcome(facts) for facts in rows}
        sets[name] = ScoredSet(each, outcomes, each.scores, each.analysis)
    return ComparedRun(label, model, _shown(folder), sets, read_manifest(folder))


def _outcome(facts: Facts) -> Outcome:
    options = facts.get("options")
    return Outcome(
        hit=int(facts["hit"]),
        truth=digest([facts.get(name) for name in _TRUTH])[:16],
        picture=str(facts["image"]),
        platform=str(facts["platform"]),
        split=str(facts["split"]),
        weight=(len(options) - 1) / len(options) if options else 1.0,
        has_answer=facts["status"] == Status.OK,
    )


def _shown(folder: Path) -> str:
    """A folder's name for files that travel: never from the root of this machine."""
    whole = folder.resolve()
    if whole.is_relative_to(Path.cwd()):
        return str(whole.relative_to(Path.cwd()))
    return "/".join(["…", *whole.parts[-2:]])
