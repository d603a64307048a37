"""Differences between the settings of a logged run and those of the config now."""

from __future__ import annotations

from pathlib import Path

from utils.contracts import Record
from utils.functions.fingerprints import CODE_VERSION
from utils.session.evaluation import Evaluation
from utils.store.folder import logs_by_age
from utils.store.logged_config import (
    FUNCTION_CODE,
    changed_code,
    changed_keys,
    changed_settings,
    entry_of_run,
    parser_of_run,
    zoom_of_run,
)
from utils.store.view import LogView


def note_on_changed_settings(evaluation: Evaluation, view: LogView, folder: Path) -> list[str]:
    """Say in one line that the run of a log asked otherwise than the config says, if it did.

    Args:
        evaluation: by the config now.
        view: of the log.
        folder: that the log is in.
    """
    before = entry_of_run(view.run, evaluation.name)
    changed = _changed_in_config(evaluation, view.run)
    record = next(view.records(), None)
    prompt = (view.run.get("asking") or {}).get("prompt")
    is_asked_so = evaluation.prompting.is_digest
    if evaluation.prompting.function and view.run.get("code_version") != CODE_VERSION:
        prompt = None  # code was hashed otherwise
    if evaluation.prompting.settings and any(key.startswith("kwargs") for key in changed):
        prompt = None  # these settings are part of its hash
    if record is not None and prompt is not None and not is_asked_so(prompt, record["line"]):
        changed.append("prompt")
    repeats = evaluation.data.repeats
    if view.repeats != repeats:
        changed.append(f"repeats {view.repeats}, not {repeats}")
    if view.is_circular and evaluation.data.circular is None:
        changed.append("circular evaluation")
    if not before or not changed:
        return []
    fitting = _folder_that_fits(evaluation, folder)
    advice = f". To score a run with these settings, add --run-folder {fitting}" if fitting else ""
    return [
        f"the stored answers were made with other settings than this config has "
        f"({', '.join(changed)}); the scores belong to the stored answers{advice}"
    ]


def _changed_in_config(evaluation: Evaluation, run: Record) -> list[str]:
    """The keys of the config that decide answers and had other values in a logged run."""
    before = entry_of_run(run, evaluation.name)
    changed = changed_settings(before, evaluation.shown_entry)
    changed += changed_code(run.get(FUNCTION_CODE) or {}, evaluation.function_code())
    return changed + _changed_follow_up(evaluation, run)


def _folder_that_fits(evaluation: Evaluation, scored: Path) -> Path | None:
    """The newest other run folder whose run was asked as this config says."""
    logs = logs_by_age(evaluation.options.work_dir, evaluation.name, evaluation.dataset)
    is_circular = evaluation.data.circular is not None
    for log, runs in logs:
        run = runs[-1] if runs else None
        if run is None or log.parent.resolve() == scored.resolve():
            continue
        is_alike = (run.repeats, run.is_circular) == (evaluation.data.repeats, is_circular)
        has_enough = run.covers(evaluation.data.mode) and run.has_enough(evaluation.options.limit)
        if is_alike and has_enough and not _changed_in_config(evaluation, run.begin):
            return log.parent
    return None


def _changed_follow_up(evaluation: Evaluation, run: Record) -> list[str]:
    """The keys that decide what is asked after a reply, where they have other values."""
    name, dataset, dotted = evaluation.name, evaluation.dataset, evaluation.dotted
    before = entry_of_run(run, name)
    changed: list[str] = []
    old_zoom = zoom_of_run(run, name)
    if old_zoom != evaluation.zoom:
        settings = [zoom and zoom.as_settings() for zoom in (old_zoom, evaluation.zoom)]
        changed += changed_keys("zoom", *settings)
    if (before.get("follow_up") or {}).get(dataset) != dotted.get("follow_up"):
        changed.append(f"follow_up.{dataset}")
    if old_zoom is not None and parser_of_run(run, name, dataset) != dotted.get("parse"):
        changed.append("parse_function")
    return changed
