"""Every model of a plan on all its data sets: queried, scored, written, summed up."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from utils.config.options import Options
from utils.engine.ranks import runs as ranks
from utils.engine.ranks.group import Group, joined
from utils.engine.ranks.machines import Client, ServersWanted, client_host, job_folder
from utils.errors import DONE, SOME_FAILED, StopRun, UserError
from utils.pages.all_runs import index_after_run
from utils.pages.report import report_after_run  # now: the program may be another by the end
from utils.scoring import console
from utils.session.evaluation import Evaluation
from utils.session.inference import follow, infer
from utils.session.jobs import open_jobs
from utils.session.manifest_writer import write_manifest
from utils.session.plan import Plan
from utils.session.result import Result, report_stop
from utils.session.score import rescore, score
from utils.store.folder import INDEX, RunFolder, logs_by_age
from utils.store.log import has_answer
from utils.text import counted, file_uri

if TYPE_CHECKING:
    from utils.session.tracking import Tracking


def run_plan(plan: Plan) -> tuple[int, list[Result]]:
    """Run every model on every data set.

    Returns:
        The exit code, and the outcome of each data set of each model.
    """
    rank, shared, spread = plan.rank, plan.shared_models, plan.spread_models
    with ExitStack() as stack:
        group: Group | None = None
        if rank is not None and not rank.slurm_step and (shared or spread):
            group = stack.enter_context(joined(rank))
        if rank is not None and not rank.leads:
            return follow(plan, rank, group), []
        client: Client | None = None
        if rank is not None and spread:
            folder = job_folder(plan.options.work_dir, rank, group)
            client = stack.enter_context(Client(folder, client_host(os.environ), spread))
        stack.callback(index_after_run, plan.options.work_dir)  # when stopped, too
        console.show_left_out(plan.bad_samples, console.MOST_LEFT_OUT)
        for judge in plan.judges.values():
            stack.callback(judge.model.close)
        outcomes: list[Result] = []
        failed: list[str] = []
        for name in plan.models:
            group_of_model = group if name in shared else None
            client_of_model = client if name in spread else None
            results = _evaluate_and_close(plan, name, group_of_model, client_of_model)
            outcomes += results
            if any(result.problems for result in results):
                failed.append(name)
        if not plan.options.from_python:
            _print_failures(plan, outcomes, failed)
        _show_models(plan, outcomes)
        code = SOME_FAILED if plan.bad_samples else DONE
        return max([code, *(outcome.code for outcome in outcomes)]), outcomes


def _evaluate_and_close(
    plan: Plan, name: str, group: Group | None, client: Client | None
) -> list[Result]:
    """Evaluate one model, and let go of it and of the servers that other machines have of it."""
    model = plan.models[name]
    if client is not None:
        model.use_machines(ServersWanted(client, name))
    try:
        return evaluate_model(plan, plan.evaluations[name], group)
    except UserError as error:
        logs = logs_by_age(plan.options.work_dir, name)
        folder = RunFolder(name, logs[0][0].parent) if logs else None
        return [report_stop(plan.options, "", folder, error.problems, error.summary)]
    finally:
        model.close()
        if client is not None:
            client.release(name)


def _print_failures(plan: Plan, outcomes: Sequence[Result], failed: Sequence[str]) -> None:
    """Count the problems, each of which was printed when it ended its data set."""
    count = sum(len(outcome.problems) for outcome in outcomes)
    if count:
        print(f"{counted(count, 'problem')}.", file=sys.stderr)
    if failed and len(plan.models) > 1:
        what = "were not scored" if plan.options.mode == "eval" else "failed"
        print(
            f"{len(failed)} of {len(plan.models)} models {what}: {', '.join(failed)}",
            file=sys.stderr,
        )


def _show_models(plan: Plan, outcomes: Sequence[Result]) -> None:
    """Compare the models of a run, or say where the list of all runs is."""
    options = plan.options
    scored = [outcome.folder.path for outcome in outcomes if outcome.folder and outcome.is_scored]
    folders = list(dict.fromkeys(scored))
    if len(folders) > 1:
        from utils.session.compare import compare_after_run

        part = options.limit is not None or bool(options.only)
        compare_after_run(folders, options.work_dir, has_page=options.report, is_part=part)
    elif len(plan.models) > 1 and any(outcome.folder for outcome in outcomes):
        _show_index(options.work_dir)


def _show_index(work_dir: Path) -> None:
    print(f"All runs: {file_uri(work_dir / INDEX)}")


def folders_with_answers(plan: Plan) -> list[Path]:
    """The run folders that hold an answer of the plan's models to its data sets, newest first."""
    logs = [
        log
        for name in plan.models
        for dataset in plan.data
        for log, _ in logs_by_age(plan.options.work_dir, name, dataset)
        if has_answer(log)
    ]
    return list(dict.fromkeys(log.parent for log in logs))


def evaluate_model(
    plan: Plan, evaluations: Sequence[Evaluation], group: Group | None = None
) -> list[Result]:
    """Query one model for all that has no answer yet, score, and write files.

    Args:
        plan: what the model is part of.
        evaluations: of the model, one for each data set.
        group: the ranks that share its samples, led by this process; None: it is alone.
    """
    with ExitStack() as stack:
        tracking = _tracking(evaluations, stack)
        if plan.options.mode == "eval":
            outcomes = rescore(evaluations, stack, plan.options.run_folder)
        else:
            outcomes = _query_and_score(plan, evaluations, group, stack, tracking)
        is_only = len(plan.models) == 1
        finish_folders(plan.options, evaluations, outcomes, is_only_model=is_only)
        if tracking is not None:
            tracking.finish(outcomes)
    return outcomes


def _tracking(evaluations: Sequence[Evaluation], stack: ExitStack) -> Tracking | None:
    """The trackers of `--log-to`, which `stack` closes; None: there are none."""
    if not evaluations[0].options.log_to:
        return None
    from utils.session.tracking import Tracking

    return stack.enter_context(closing(Tracking(evaluations)))


def _query_and_score(
    plan: Plan,
    evaluations: Sequence[Evaluation],
    group: Group | None,
    stack: ExitStack,
    tracking: Tracking | None,
) -> list[Result]:
    """Query and score; `stack` gets the lock on the files that are derived from the logs."""
    with ExitStack() as logs:
        if group is not None:
            logs.enter_context(ranks.leading(group, evaluations[0].name))
        folder, jobs = open_jobs(evaluations, logs)
        if group is not None:
            ranks.begin(group, folder, jobs)
        if tracking is not None:
            tracking.begin(folder, sum(len(job.samples) for job in jobs))
        try:
            infer(evaluations, jobs, group, tracking)
        except StopRun as stop:  # of the model; its answers stay
            outcomes = [
                Result(job.dataset, folder, SOME_FAILED, stop.problems, stop.summary)
                for job in jobs
            ]
            stack.enter_context(folder.scoring())
            write_manifest(evaluations, folder, outcomes)
            raise
        stops = {job.dataset: job.stopped for job in jobs}
        is_last_model = evaluations is [*plan.evaluations.values()][-1]
        if is_last_model:  # samples are large, and scoring reads the log
            jobs = []
            for evaluation in evaluations:
                evaluation.data.samples = ()
        stack.enter_context(folder.scoring())
        return [_score(evaluation, folder, stops[evaluation.dataset]) for evaluation in evaluations]


def _score(evaluation: Evaluation, folder: RunFolder, stop: StopRun | None) -> Result:
    if stop is not None:
        dataset = evaluation.dataset
        return report_stop(evaluation.options, dataset, folder, stop.problems, stop.summary)
    return score(evaluation, folder)


def finish_folders(
    options: Options,
    evaluations: Sequence[Evaluation],
    outcomes: Sequence[Result],
    *,
    is_only_model: bool,
) -> None:
    """Write manifests and reports, and say where everything is."""
    folders = [outcome.folder for outcome in outcomes if outcome.folder is not None]
    for folder in dict.fromkeys(folders):
        outcomes_here = [outcome for outcome in outcomes if outcome.folder == folder]
        write_manifest(evaluations, folder, outcomes_here)
        scored = [outcome.dataset for outcome in outcomes_here if outcome.is_scored]
        if scored:
            print(f"Scores, spreadsheets and log: {folder.path}")
            fuller = folder.fuller(scored)
            shown = f"{fuller.name}, the newest run with all samples" if fuller else ""
            shown = "the newest run" if folder.is_older else shown
            if shown:
                print(
                    f"  The links in {folder.path.parent} still lead to {shown}. To compare this "
                    "run, give compare.py its own folder"
                )
        if is_only_model:
            _show_index(options.work_dir)
        if options.report and (scored or any(outcome.problems for outcome in outcomes_here)):
            report_after_run(
                folder, scored, work_dir=options.work_dir, small_images=options.small_images
            )
