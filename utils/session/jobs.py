"""The jobs of one model: what it is asked of each data set, and the runs in the logs."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.contracts import (
    ActingBenchmark,
    Answered,
    FollowUp,
    Prompt,
    PromptOf,
    Record,
    ReplyParsing,
    Sample,
)
from utils.engine.jobs import ChainPlan, EpisodePlan, Job
from utils.engine.ranks import runs as ranks
from utils.engine.worlds import Worlds
from utils.functions.calling import one_at_a_time
from utils.functions.fingerprints import CODE_VERSION
from utils.functions.follow_up import CropFolder, UserStages, ZoomStage, reply_text
from utils.scoring.scorer import meta_of_record
from utils.session.evaluation import Evaluation
from utils.session.settings import episode_fingerprint, pixel_limits, settings_digest
from utils.store.folder import RunFolder, all_logs, choosing, logs_by_age
from utils.store.index import AnswerIndex
from utils.store.log import LoggedRun, RunLog, runs_of
from utils.store.logged_config import FUNCTION_CODE, entry_of_run
from utils.store.provenance import depends_on, git_state, made_with
from utils.store.records import run_record, sizes_of

SCREENSHOTS = "screenshots"  # folder of a run: what its episodes saw
BY_MODULE = "the program now compares the code behind them by module (docs/results.md)"
MOST_WORLDS = 8  # without --worlds; each keeps half a core busy, and half a gigabyte


def open_jobs(evaluations: Sequence[Evaluation], stack: ExitStack) -> tuple[RunFolder, list[Job]]:
    """Choose the folder of a model's run and open the run in its logs, which `stack` closes."""
    first = evaluations[0]
    work_dir, name = first.options.work_dir, first.name
    new_runs = new_runs_of(evaluations)
    with choosing(work_dir, name):
        folder, why = folder_of(evaluations, new_runs)
        print(f'\nmodel "{name}" → {folder.path}' + (f" ({why})" if why else ""))
        opened = []
        for evaluation in evaluations:
            dataset = evaluation.dataset
            log = RunLog(folder.log(dataset), clean=evaluation.secrets.clean_object)
            stack.enter_context(closing(log))
            ranks.adopt(folder, dataset, log)
            job = make_job(evaluation, folder, new_runs[dataset])
            if job.follow_up is not None:
                job.follow_up.begin()
                stack.callback(job.follow_up.close)
            opened.append((job, log))
        runs = [run for _, runs in logs_by_age(work_dir, name) for run in runs]
        for note in _notes_on_code(evaluations, runs):
            print(note)
        numbers = [run.seq for run in runs]
        numbers += [job.answers.newest for job, _ in opened]
        seq = 1 + max(numbers, default=0)
        for job, log in opened:
            for note in job.answers.notes:
                print(f"warning: {note}")
            record = run_record(seq, **job.run.begin)
            log.append(record)
            job.open(log, LoggedRun(record, {}))
    return folder, [job for job, _ in opened]


def _notes_on_code(evaluations: Sequence[Evaluation], runs: Sequence[LoggedRun]) -> list[str]:
    """A line on stored answers that are asked again because code was hashed otherwise."""
    newest = max(runs, key=lambda run: run.seq, default=None)
    is_old = newest is not None and "code_version" not in newest.begin
    acts = any(isinstance(evaluation.benchmark, ActingBenchmark) for evaluation in evaluations)
    if is_old and (acts or evaluations[0].model.deciding_code):
        return [f"Samples answered by an earlier version are queried again, once: {BY_MODULE}"]
    return []


def new_runs_of(evaluations: Sequence[Evaluation]) -> dict[str, LoggedRun]:
    """The runs that would begin now, by data set: as logs will have them, but for their number."""
    return {evaluation.dataset: LoggedRun(_described(evaluation), {}) for evaluation in evaluations}


def folder_of(
    evaluations: Sequence[Evaluation], new_runs: Mapping[str, LoggedRun]
) -> tuple[RunFolder, str | None]:
    """The folder in which a model's run goes on or begins, and why it is not today's."""
    first = evaluations[0]
    commit = git_state(PROJECT)["commit"]
    return RunFolder.of_experiment(first.options.work_dir, first.name, commit, new_runs)


def _described(evaluation: Evaluation) -> Record:
    """The record of a run of an evaluation, but for its number and when it began."""
    data, options = evaluation.data, evaluation.options
    settings = settings_digest(evaluation)
    request_hashes, inputs = depends_on(data, options.limit, settings, evaluation.prompting)
    keys = [sample.key for sample in data.chosen(options.limit)]
    limit_ranks = data.limit_ranks()
    return {
        "model": evaluation.name,
        "dataset": evaluation.dataset,
        "mode": data.mode,
        "limit": options.limit,
        "circular": data.circular is not None,
        **({"repeats": data.repeats} if data.repeats > 1 else {}),
        **({"fresh": True} if options.fresh else {}),
        "protocol": evaluation.protocol,
        "samples": keys,
        "turns": [limit_ranks[key] for key in keys],
        "bad": data.bad,
        "asking": request_hashes,
        "code_version": CODE_VERSION,
        **({FUNCTION_CODE: code} if (code := evaluation.function_code()) else {}),
        **made_with(evaluation.config, options.config_text, options.arguments, inputs),
    }


def make_job(
    evaluation: Evaluation, folder: RunFolder, run: LoggedRun, shots: Path | None = None
) -> Job:
    """The job of an evaluation.

    Args:
        evaluation: what is asked of whom.
        folder: of the run.
        run: that the job is part of.
        shots: where the screenshots of episodes go; None: to a folder in the run's.
    """
    options = evaluation.options
    logs = all_logs(options.work_dir, evaluation.name, evaluation.dataset)
    job = Job(
        dataset=evaluation.dataset,
        samples=evaluation.data.requested(options.limit),
        answers=AnswerIndex(logs, own_log=folder.log(evaluation.dataset)),
        run=run,
        functions=evaluation.dotted,
    )
    runs = [logged for log in logs if log.exists() for logged in runs_of(log)]
    evaluation.model.know_runs([entry_of_run(logged.begin, evaluation.name) for logged in runs])
    if isinstance(evaluation.benchmark, ActingBenchmark):
        shots = shots or folder.path / SCREENSHOTS
        job.episodes = _episodes_of(evaluation, evaluation.benchmark, shots)
    else:
        prompt_of = evaluation.prompting.builder()
        job.prompt_of = partial(_prompt_of_sample, prompt_of)
        job.chains = _chains_of(evaluation, job.samples, prompt_of)
        job.follow_up = _follow_up_of(
            evaluation, prompt_of, CropFolder(folder.path, evaluation.dataset)
        )
    if job.follow_up is None:  # of single replies
        job.first_look = evaluation.scorer()
    return job


def _prompt_of_sample(prompt_of: PromptOf, sample: Sample) -> Prompt:
    return replace(prompt_of(sample.line), image=sample.image)


def _chains_of(
    evaluation: Evaluation, samples: Sequence[Sample], prompt_of: PromptOf
) -> ChainPlan | None:
    """The plan for querying samples in order; None if their benchmark does not ask for it."""
    benchmark = evaluation.benchmark
    if not samples or not benchmark.chain_of(samples[0].line):
        return None
    one_call: PromptOf = one_at_a_time(prompt_of, threading.Lock())

    def prompt_after(sample: Sample, answered: Answered) -> Prompt:
        return replace(one_call(benchmark.line_after(sample.line, answered)), image=sample.image)

    return ChainPlan(
        chain_of=lambda sample: benchmark.chain_of(sample.line), prompt_after=prompt_after
    )


def _episodes_of(evaluation: Evaluation, benchmark: ActingBenchmark, shots: Path) -> EpisodePlan:
    """The plan for playing the samples of a benchmark that acts.

    Workers make the prompts of whole episodes and read the replies, several at a time.
    """
    prompting, function = evaluation.prompting, evaluation.function("prompt")
    if function is not None:
        function = one_at_a_time(function, threading.Lock(), copy_result=True)
    reading = ReplyParsing(
        evaluation.postprocess,
        one_at_a_time(evaluation.parse, threading.Lock()),
        pixel_limits(evaluation),
    )
    prompt_of = replace(prompting, function=function).builder()
    places = evaluation.options.worlds or min(os.cpu_count() or 1, MOST_WORLDS)
    return EpisodePlan(
        play=partial(_play, benchmark, prompt_of, reading),
        worlds=Worlds(partial(benchmark.open_world, shots), places),
        fingerprint=episode_fingerprint(evaluation),
        read_reply=partial(benchmark.read_reply, reading),
    )


def _play(
    benchmark: ActingBenchmark,
    prompt_of: PromptOf,
    reading: ReplyParsing,
    sample: Sample,
    world: Any,
) -> Any:
    return benchmark.episode(sample, prompt_of, world, reading)


def _follow_up_of(
    evaluation: Evaluation, prompt_of: PromptOf, crops: CropFolder
) -> FollowUp | None:
    """The stages after a reply, or None; several workers call them at once."""
    postprocess, benchmark = evaluation.postprocess, evaluation.benchmark
    function, zoom = evaluation.function("follow_up"), evaluation.zoom
    if function is not None:
        one_call = one_at_a_time(function, threading.Lock())
        return UserStages(one_call, postprocess, benchmark.image_root)
    if zoom is None:
        return None
    parse = one_at_a_time(evaluation.parse, threading.Lock())

    def point_of(record: Record) -> Any:
        reply = reply_text(record, postprocess)
        sizes = sizes_of(record)
        meta = meta_of_record(record, sizes, evaluation.entry.kwargs)
        point, _ = benchmark.read(record["line"], sizes, reply, parse, meta)
        return point

    return ZoomStage(zoom, one_at_a_time(prompt_of, threading.Lock()), point_of, crops)
