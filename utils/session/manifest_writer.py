"""Write the manifest of a run's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.errors import StopRun
from utils.geometry.images import data_root, image_root
from utils.scoring.sheets import write_json
from utils.session.evaluation import Evaluation
from utils.session.result import Result
from utils.store.derived import MANIFEST_NAME, read_json
from utils.store.folder import RunFolder
from utils.store.manifest import ManifestUpdate, manifest_of, scoring_of
from utils.store.run_facts import parse_function
from utils.store.seals import merged

USUAL = "the default parser"


def marked_folders(work_dir: Path) -> dict[str, Path]:
    """The folders of this machine by the marks that stand for them in a manifest."""
    return {
        "$LMUData": data_root(),
        "$IMAGE_ROOT_DIR": image_root(),
        "$EVAL_WORK_DIR": work_dir,
        ".": PROJECT,
    }


def write_manifest(
    evaluations: Sequence[Evaluation], folder: RunFolder, outcomes: Sequence[Result]
) -> None:
    """Write what is new of some data sets into the manifest of a run's folder."""
    first = evaluations[0]
    path = folder.path / MANIFEST_NAME
    before = read_json(path, must_be_whole=False)
    update = _update(evaluations, folder, outcomes, before)
    manifest = manifest_of(before, update, marked_folders(first.options.work_dir))
    if not manifest:
        return
    _say_what_is_replaced(before, manifest, outcomes)
    # Where a full disk has stopped a data set, that has been said.
    is_told = bool(update.stopped) and not update.entries
    with suppress(StopRun) if is_told else nullcontext():
        write_json(path, first.secrets.clean_object(manifest))
        complete = {name for name, entry in update.entries.items() if not entry.facts["partial"]}
        folder.link_newest([path], {outcome.dataset for outcome in outcomes} - complete)


def _say_what_is_replaced(
    before: Mapping[str, Any], manifest: Mapping[str, Any], outcomes: Sequence[Result]
) -> None:
    """Print which scores of before another parse function has replaced."""
    for outcome in outcomes:
        name = outcome.dataset
        is_again = outcome.is_scored and bool(
            before.get("datasets", {}).get(name, {}).get("figures")
        )
        was, now = parse_function(before, name), parse_function(manifest, name)
        if is_again and was != now:
            print(
                f"{name}: these scores replace those by {was or USUAL}; the parse "
                f"function is {now or USUAL} now"
            )


def _update(
    evaluations: Sequence[Evaluation],
    folder: RunFolder,
    outcomes: Sequence[Result],
    before: Mapping[str, Any],
) -> ManifestUpdate:
    levels = {evaluation.dataset: evaluation.benchmark.level for evaluation in evaluations}
    scoring = None
    if any(outcome.is_scored for outcome in outcomes):
        scoring = scoring_of(evaluations[0].options.arguments, evaluations[0].config)
    entries = {outcome.dataset: outcome.entry for outcome in outcomes if outcome.entry is not None}
    stopped = {
        outcome.dataset: {
            "level": levels[outcome.dataset],
            "why": outcome.why,
        }
        for outcome in outcomes
        if outcome.problems
    }
    checksums = dict(chain.from_iterable(outcome.checksums.items() for outcome in outcomes))
    files = merged(folder.path, before, checksums)
    return ManifestUpdate(folder.model, entries, scoring, stopped, files)
