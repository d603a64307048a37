"""One model on all data sets of a run: logs opened, queried, scored, written."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

from utils.config.text import key_path
from utils.contracts import ModelWrapper
from utils.engine.engine import Engine
from utils.engine.jobs import Job
from utils.engine.ranks import runs as ranks
from utils.engine.ranks.group import SHARED_TYPES, Group, Rank, joined
from utils.errors import DONE, SOME_FAILED, StopRun, UserError
from utils.findings import warnings_in
from utils.protocol import official_figures
from utils.report.all_runs import INDEX, index_after_run
from utils.report.build import report_after_run  # now: the program may be another by the end
from utils.run.manifest_writer import write_manifest
from utils.run.outcome import Done, stopped
from utils.run.plan import Plan
from utils.run.requests import asked_otherwise, folder_of, open_job, questions_of, run_specs
from utils.runs.find import doubtful_order
from utils.runs.folder import RunFolder, choosing, foreign_owner, logs_by_age
from utils.runs.log import LoggedRun, RunLog, has_answer
from utils.runs.manifest import entry_of
from utils.runs.records import end_record
from utils.runs.view import LogView, fit
from utils.scoring import console
from utils.scoring.write import ScoringTask, score_data_set, write_predictions
from utils.text import counted

BATCH_OF_AUTO = 8


def run_plan(plan: Plan, rank: Rank | None = None) -> tuple[int, list[Done]]:
    """Runs every model on every data set; the exit code, and what became of each of them."""
    shared = {n for n in plan.models if plan.config.model[n].imp_type in SHARED_TYPES}
    with ExitStack() as held:
        group = held.enter_context(joined(rank)) if rank is not None and shared else None
        if rank is not None and not rank.leads:
            return (follow(plan, group) if group is not None else DONE), []
        held.callback(index_after_run, plan.options.work_dir)  # when stopped, too
        console.show_left_out(plan.bad_samples, console.MOST_LEFT_OUT)
        done: list[Done] = []
        failed = []
        for name, model in plan.models.items():
            try:
                came = evaluate_model(plan, name, group if name in shared else None)
            except UserError as error:
                logs = logs_by_age(plan.options.work_dir, name)[:1]
                folder = next((RunFolder(name, log.parent) for log, _ in logs), None)
                came = [stopped(plan, "", folder, error.problems, error.summary)]
            finally:
                model.close()
            done += came
            failed += [name] if any(each.problems for each in came) else []
        problems = [problem for each in done for problem in each.problems]
        if problems and not plan.is_quiet:  # each was printed when it ended its data set
            print(f"{counted(len(problems), 'problem')}.", file=sys.stderr)
        if failed and len(plan.models) > 1 and not plan.is_quiet:
            what = f"{len(failed)} of {len(plan.models)} models failed: {', '.join(failed)}"
            print(what, file=sys.stderr)
        folders = [each.folder.path for each in done if each.folder and each.is_scored]
        if len(folders := list(dict.fromkeys(folders))) > 1:
            from utils.comparing.command import compare_after_run

            options = plan.options
            compare_after_run(folders, options.work_dir, has_page=options.report)
        elif len(plan.models) > 1 and any(each.folder for each in done):
            show_index(plan.options.work_dir)
        code = SOME_FAILED if plan.bad_samples else DONE
        return max([code, *(each.code for each in done)]), done


def has_answers(plan: Plan) -> bool:
    """Return whether any model of a plan has an answer to any of its data sets in the work-dir."""
    return any(
        has_answer(log)
        for name in plan.models
        for dataset in plan.data
        for log, _ in logs_by_age(plan.options.work_dir, name, dataset)
    )


def show_index(work_dir: Path) -> None:
    """Where to look at everything that was run."""
    print(f"All runs: {(work_dir / INDEX).absolute().as_uri()}")


def follow(plan: Plan, group: Group) -> int:
    """What a rank other than 0 does: asks its share of each model's samples."""
    for name, model in plan.models.items():
        try:
            take_part(plan, name, model, group)
        finally:
            model.close()
    return DONE


def evaluate_model(plan: Plan, name: str, group: Group | None = None) -> list[Done]:
    """Asks one model all that has no answer yet (as leader of a group, if any), scores, writes."""
    with ExitStack() as held:
        if plan.options.mode == "eval":
            done = _rescore(plan, name, held)
        else:
            done = _ask_and_score(plan, name, group, held)
        _finish_folders(plan, done)
    return done


def _finish_folders(plan: Plan, done: Sequence[Done]) -> None:
    """Writes manifests and reports, and says where everything is."""
    for folder in dict.fromkeys(each.folder for each in done if each.folder is not None):
        here = [each for each in done if each.folder == folder]
        write_manifest(plan, folder, here)
        scored, options = [each.dataset for each in here if each.is_scored], plan.options
        if scored:
            print(f"Scores, spreadsheets and log: {folder.path}")
        if scored and (fuller := folder.fuller(scored)):
            print(
                f"  {folder.path.parent} and compare.py use {fuller.name}, the newest run "
                "with all samples; name this folder to compare it"
            )
        if len(plan.models) == 1:
            show_index(options.work_dir)
        if options.report and (scored or any(each.problems for each in here)):
            report_after_run(
                folder, scored, work_dir=options.work_dir, small_images=options.small_images
            )


def _ask_and_score(plan: Plan, name: str, group: Group | None, held: ExitStack) -> list[Done]:
    """Asks and scores; `held` gets the lock on the files that come of it."""
    with ExitStack() as logs:
        if group is not None:
            logs.enter_context(ranks.leading(group, name))
        folder, jobs = _open_jobs(plan, name, logs)
        if group is not None:
            ranks.begin(group, folder, jobs, _batch(plan, name))
        try:
            infer(plan, plan.models[name], jobs, group)
        except StopRun as stop:  # of the model; what it was asked stays
            ended = [
                Done(job.dataset, folder, SOME_FAILED, stop.problems, stop.summary) for job in jobs
            ]
            held.enter_context(folder.scoring())
            write_manifest(plan, folder, ended)
            raise
        asked = [(job.dataset, job.stopped) for job in jobs]
        if name == [*plan.models][-1]:  # what was asked is large, and scoring reads the log
            jobs = []
            for data in plan.data.values():
                data.samples = ()
        held.enter_context(folder.scoring())
        return [
            stopped(plan, dataset, folder, error.problems, error.summary)
            if error
            else _score(plan, name, folder, dataset)
            for dataset, error in asked
        ]


def _open_jobs(plan: Plan, name: str, logs: ExitStack) -> tuple[RunFolder, list[Job]]:
    """Chooses the folder of a run and opens the run in its logs, which `logs` closes."""
    work_dir = plan.options.work_dir
    wanted = run_specs(plan, name)
    with choosing(work_dir, name):
        folder, why = folder_of(plan, name, wanted)
        print(f'\nmodel "{name}" → {folder.path}' + (f" ({why})" if why else ""))
        opened = []
        for dataset in plan.data:
            log = RunLog(folder.log(dataset), clean=plan.secrets.clean_object)
            logs.enter_context(closing(log))
            ranks.adopt(folder, dataset, log)
            opened.append((questions_of(plan, name, dataset, folder), log))
        numbers = [run.seq for _, runs in logs_by_age(work_dir, name) for run in runs]
        numbers += [questions.answers.newest for questions, _ in opened]
        seq = 1 + max(numbers, default=0)
        jobs = [
            open_job(plan, name, questions, log, wanted[questions.dataset], seq)
            for questions, log in opened
        ]
    return folder, jobs


def _rescore(plan: Plan, name: str, held: ExitStack) -> list[Done]:
    """Scores what is in the logs (`--mode eval`); `held` gets the locks on the files."""
    work_dir = plan.options.work_dir
    logs = {dataset: logs_by_age(work_dir, name, dataset) for dataset in plan.data}
    folders = {log.parent for logs_of_set in logs.values() for log, _ in logs_of_set[:1]}
    for folder in sorted(folders):  # in one order for all processes, or two wait for each other
        held.enter_context(RunFolder(name, folder).scoring())
    return [_rescore_data_set(plan, name, dataset, logs[dataset]) for dataset in plan.data]


def _rescore_data_set(
    plan: Plan, name: str, dataset: str, logs: Sequence[tuple[Path, Sequence[LoggedRun]]]
) -> Done:
    options = plan.options
    if not logs:
        why = f"no log under {options.work_dir}"
        text = f'model "{name}", {dataset}: {why}; leave out --mode eval'
        return stopped(plan, dataset, None, [text], why)
    path = logs[0][0]
    problem = _doubt_about(name, dataset, logs)
    if problem is not None:
        return stopped(plan, dataset, None, [problem], problem)
    folder, least = RunFolder(name, path.parent), DONE
    wanted = plan.data[dataset].mode, options.limit
    whole = [log for log, runs in logs if any(all(fit(run, *wanted)) for run in runs)]
    if whole and path not in whole:
        least, other = SOME_FAILED, whole[0].parent.name
        print(
            f"{dataset}: the newest log, in {path.parent.name}, holds only part of what is "
            f"asked for, {other} all of it. The command of that run, without --mode eval, makes "
            "it the newest and repeats no requests"
        )
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        return stopped(plan, dataset, None, error.problems, error.summary)
    with closing(log):
        ranks.adopt(folder, dataset, log)  # several ranks may have been stopped
        done = _score(plan, name, folder, dataset)
        return replace(done, code=max(done.code, least))


def _doubt_about(
    name: str, dataset: str, logs: Sequence[tuple[Path, Sequence[LoggedRun]]]
) -> str | None:
    """Say why the newest log may not be the one to score, if that is so."""
    path, runs = logs[0]
    for run in runs[-1:]:
        problem = foreign_owner(name, run, path.parent.parent)
        if problem is not None:
            return problem
    problem = doubtful_order([log.parent for log, _ in logs])
    if problem is None:
        return None
    advice = "move what is not to be scored out of the work-dir"
    return f'model "{name}", {dataset}: {problem}; {advice}'


def _score(plan: Plan, name: str, folder: RunFolder, dataset: str) -> Done:
    """Scores a log, writes the files derived from it, and prints what came of it."""
    options, data, entry = plan.options, plan.data[dataset], None
    task = ScoringTask(
        folder=folder,
        data=data,
        limit=options.limit,
        postprocess=plan.models[name].postprocess(dataset),
        scorer=partial(plan.scorer, name, dataset),
        clean=plan.secrets.clean_object,
    )
    mode = data.mode if options.mode == "eval" else None  # None: what this run has asked itself
    try:
        with closing(LogView(folder.log(dataset), mode, options.limit)) as view:
            is_part = view.is_part(data.mode, options.limit)
            found = entry_of(view, data.benchmark.level, is_part=is_part)
            if options.mode == "infer":
                is_whole = write_predictions(task, view)
                return Done(dataset, folder, DONE if is_whole else SOME_FAILED, entry=found)
            entry = None if options.mode == "eval" else found
            if options.mode == "eval":
                task = replace(task, notes=asked_otherwise(plan, name, dataset, view))
            scored = score_data_set(task, view)
            found.facts["figures"] = official_figures(scored.analysis) if scored.has_score else {}
            found.facts["warnings"] = len(warnings_in(scored.analysis))
    except StopRun as stop:  # this data set's functions; the others are scored all the same
        problems = [f"{dataset}: {problem}" for problem in stop.problems]
        done = stopped(plan, dataset, folder, problems, stop.summary)
        if task.has_earlier_files:
            print(f"{dataset}: not scored; its files are from an earlier scoring")
        return replace(done, entry=entry)
    except UserError as error:
        problems = [f'model "{name}", {problem}' for problem in error.problems]
        return stopped(plan, dataset, folder, problems, error.summary)
    console.show_scored(scored, name, options)
    own = dataset in plan.config.model[name].parse_function
    is_shared = own or len(plan.config.model) > 1
    setting = scored.scorer.parser_setting
    if is_shared and any(finding.setting == setting for finding in scored.findings):
        key = key_path("model", name, "parse_function", dataset)
        print(f"  (data.{dataset}.parse_function is for all models, {key} for this one)")
    code = DONE if scored.is_whole else SOME_FAILED
    return Done(dataset, folder, code, is_scored=True, entry=found, checksums=scored.checksums)


def take_part(plan: Plan, name: str, model: ModelWrapper, group: Group) -> None:
    """Asks this rank's share of one model's samples; rank 0 does everything else."""
    joined = ranks.join(group, name, plan.options.work_dir)
    if joined is None:
        return
    folder, runs = joined
    with ExitStack() as held:
        jobs = []
        for dataset, run in runs.items():
            log = ranks.open_rank_log(group, folder, dataset, run, clean=plan.secrets.clean_object)
            held.enter_context(closing(log))
            asked = questions_of(plan, name, dataset, folder)
            jobs.append(Job(**vars(asked), log=log, run=run))
        ranks.share_samples(group, name, jobs, _batch(plan, name))
        wall_s, cpu_s = infer(plan, model, jobs, group)
    ranks.report(group, name, jobs, wall_s, cpu_s)


def _batch(plan: Plan, name: str) -> int:
    """How many samples of a model are generated together, as far as one knows."""
    size = getattr(plan.config.model[name], "batch_size", 1)
    return BATCH_OF_AUTO if isinstance(size, str) else size or 1


def infer(
    plan: Plan, model: ModelWrapper, jobs: Sequence[Job], group: Group | None = None
) -> tuple[float, float]:
    """Asks all that has no answer until it is in the logs, of all ranks if rank 0 asks.

    Returns the seconds that it took, and those of CPU.
    """
    options = plan.options
    for job in jobs:
        job.first_look = plan.scorer(model.name, job.dataset)
        job.functions = job.first_look.functions
    for note in model.notes_before():
        print(note)
    # Whether some sample was never asked, whatever has changed about the others since.
    asked = (job.answers.knows(sample.key) for job in jobs for sample in job.samples)
    if options.fresh or not all(asked):
        model.warm_up()
    shown = console.ConsoleProgress(sum(len(job.samples) for job in jobs), model.name)
    of_group = None if group is None else ranks.GroupProgress(shown, group, model.name)
    progress = of_group or shown
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    longest_s = others_cpu_s = 0.0
    try:
        Engine(model, options, progress, plan.secrets.clean).run(jobs)
        if of_group is not None and of_group.group.rank.leads:
            folder = RunFolder(model.name, jobs[0].log.path.parent)
            longest_s, others_cpu_s = ranks.collect(of_group, folder, jobs)
    finally:
        shown.close()
    # Another rank may have begun, and finished, while this one was loading.
    wall_s = max(time.monotonic() - began_s, longest_s)
    cpu_s = time.process_time() - began_cpu_s + others_cpu_s
    for job in jobs:
        if job.stopped is None:
            job.log.append(end_record(wall_s, cpu_s, asked=job.reasons, reused=job.reused))
        job.log.sync()  # a network disk that is full says so here
        print(console.render_asked(job.dataset, job.reasons, job.reused))
    for note in model.notes_after():
        print(note)
    print(f"took {wall_s:.1f} s ({cpu_s:.1f} s of CPU)")
    return wall_s, cpu_s
