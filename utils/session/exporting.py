"""`--export`: a scored run becomes a file in a form that others take. Nothing is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from utils.config.options import Options
from utils.errors import DONE, UserError
from utils.exchange.export import FORMS, Form, bundle, form_named
from utils.exchange.export.rows import is_resized
from utils.exchange.export.run import ExportedRun, ExportedSet, open_run
from utils.geometry.images import expand_home
from utils.protocol import MADE_ELSEWHERE
from utils.scoring.sheets import whole_file
from utils.store.derived import MANIFEST_NAME
from utils.text import counted, listed

FOLDER = "export"  # in the folder of the run


def run_export(options: Options) -> int:
    """Write what `--export` names; return the exit code.

    Raises:
        UserError: it must not be exported in this form; nothing was written.
    """
    form_name, run_name = options.export
    form = form_named(form_name)
    run = open_run(expand_home(run_name), options.data, options.task_id)
    fitting = [dataset for dataset in run.sets if form.takes(dataset)]
    not_fitting = [dataset for dataset in run.sets if dataset not in fitting]
    left_out = [dataset.name for dataset in not_fitting]
    if not fitting:
        forms = _forms_for(*not_fitting)
        fix = f"; forms that can: {listed(forms, 20)}" if forms else ""
        raise UserError(f"--export {form.NAME}: cannot hold {listed(left_out)}{fix}")
    run = replace(run, sets=fitting)
    problems = _problems(run, form, options)
    if problems:
        raise UserError(problems)
    content = form.content(run)
    path = _path(run, form, options)
    replaced = ". It replaces an older export" if path.exists() else ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
    of = ", ".join(f"{dataset.name} {len(dataset.samples):,}" for dataset in run.sets)
    print(f"{path}: {form.TITLE} (samples: {of}; {len(content):,} bytes){replaced}")
    for line in [*_remarks(run, form, left_out), *form.next_steps(run, str(path))]:
        print(line)
    return DONE


def _problems(run: ExportedRun, form: Form, options: Options) -> list[str]:
    """The problems that prevent an export."""
    problems: list[str] = []
    if form.IS_OF_ONE and len(run.sets) > 1:
        names = listed([dataset.name for dataset in run.sets])
        problems.append(f"--export {form.NAME}: takes one data set; name it: --data {names}")
    if run.imported is not None and not options.imported_too:
        problems.append(
            f"{run.folder}: these are {MADE_ELSEWHERE}; --imported-too exports them, marked as such"
        )
    if not form.IS_FIGURE:
        return problems
    for dataset in run.sets:
        if dataset.why_no_figure:
            problems.append(
                f"--export {form.NAME} {dataset.name}: the data set {dataset.why_no_figure}, and "
                "this form takes only scores on whole, published data sets. Forms that take "
                f"{dataset.name}: {listed(_forms_for(dataset), 20)}"
            )
        elif dataset.doubts and not options.anyway:
            problems.append(
                f"{dataset.name}: an audit doubts the figure ({'; '.join(dataset.doubts)}). "
                "--anyway exports it, with the doubt in the notes"
            )
    return problems


def _forms_for(*datasets: ExportedSet) -> list[str]:
    """The forms that take some data sets; those with scores alone take no part of a data set."""
    return [
        form.NAME
        for form in FORMS
        if all(
            form.takes(dataset) and not (form.IS_FIGURE and dataset.why_no_figure)
            for dataset in datasets
        )
    ]


def _path(run: ExportedRun, form: Form, options: Options) -> Path:
    """The path of the file: from `--output`, else in a folder below the run's."""
    if options.output is None:
        return run.folder / FOLDER / form.file_name(run)
    path = expand_home(options.output)
    if path.exists():
        raise UserError(f"--output {path}: exists already; name another file, or remove it")
    return path


def _remarks(run: ExportedRun, form: Form, left_out: list[str]) -> list[str]:
    """The remarks on the file for the user."""
    remarks: list[str] = []
    if left_out:
        remarks.append(f"left out, because this form cannot hold them: {listed(left_out)}")
    for dataset in run.sets:
        if dataset.is_partial:
            remarks.append(
                f"{dataset.name}: a part of the data set, {counted(len(dataset.samples), 'sample')}"
            )
        if form is bundle and dataset.analysis.get("circular"):
            remarks.append(
                f"{dataset.name}: the answers to the other orders of the options (circular "
                "evaluation) are left out; the scores of the run are in the file"
            )
        if form is bundle and dataset.analysis.get("judge"):
            remarks.append(
                f"{dataset.name}: the judge's readings are left out, and an import has no judge; "
                "the score with the judge is in the file"
            )
        if not run.scoring_config(dataset):
            remarks.append(
                f"warning: {dataset.name}: {run.folder / MANIFEST_NAME} does not say with which "
                "config it was scored, so the export names no parse function. Score it again with "
                "its config and --mode eval, which sends no requests; then export again"
            )
        remarks += [f"warning: {dataset.name}: {doubt}" for doubt in dataset.doubts]
        resized = sum(map(is_resized, dataset.samples))
        if resized and form is not bundle and not form.IS_FIGURE:
            remarks.append(
                f"{dataset.name}: the model saw {counted(resized, 'image')} in another size. If "
                "its replies are in pixels, others can read them again only from a bundle"
            )
    if run.imported is not None:
        remarks.append(f"marked as {MADE_ELSEWHERE}")
    return remarks
