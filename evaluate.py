"""MMBench-GUI: measures how well a vision-language model understands graphical user interfaces.

    python evaluate.py --config configs/config_demo.json

arguments → config → check → for each model: infer → evaluate → write → summary
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import BENCHMARK, PLANNED
from benchmarks.base import Benchmark, ParseFunction
from benchmarks.data_set import DataSet
from models import build_model
from utils import checking, console
from utils.cli import Options, parse_arguments, unknown_names
from utils.concurrency import MOST_IN_FLIGHT
from utils.config import (
    ConfigReading,
    DataEntry,
    ModelEntry,
    RunConfig,
    read_config,
    redacted_dump,
)
from utils.config_text import key_path
from utils.contracts import ModelWrapper
from utils.data_root import data_root, image_root
from utils.environment import PROJECT, WithStandIns, is_set, load_dotenv_files, odd_settings
from utils.errors import StopRun, UserError
from utils.first_look import FirstLook
from utils.import_utils import check_reference, parse_caller, resolve
from utils.inference_tools import Engine, EngineSettings, Interrupted
from utils.jobs import Job, Questions
from utils.outcomes import Policy
from utils.predictions import AnswerIndex, LogView, RunLog
from utils.prompting import prompt_builder
from utils.provenance import Stopwatch, end_record, run_record
from utils.results import write_predictions, write_results
from utils.run_folder import (
    RunFolder,
    git_commit,
    name_collisions,
    newest_log,
    work_dir_problems,
)
from utils.scoring import Scorer, records_to_score
from utils.secrets import SecretFilter, secrets_in

DONE, SOME_FAILED, NOTHING_RUN, INTERRUPTED = 0, 1, 2, 130


@dataclass
class Plan:
    """Everything that was found in order before the first model call."""

    options: Options
    config: RunConfig
    dump: Mapping[str, Any]
    models: dict[str, ModelWrapper]
    data: dict[str, DataSet]
    secrets: SecretFilter

    @property
    def bad_samples(self) -> list[str]:
        """All samples that are left out."""
        return [line for data in self.data.values() for line in data.bad_samples]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # piped with stderr, both keep their order
        sys.stdout.reconfigure(line_buffering=True)
    load_dotenv_files()
    options = parse_arguments(arguments)
    try:
        plan = prepare(options)
    except UserError as error:
        print(console.problem_report(error.problems), file=sys.stderr)
        return NOTHING_RUN
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        if options.check:
            return check(plan)
        return evaluate(plan)
    except (Interrupted, KeyboardInterrupt):
        print(
            "Interrupted. Nothing that was answered is lost: the same command goes on from here, "
            "--mode eval scores what is there."
        )
        return INTERRUPTED
    except UserError as error:
        print(console.problem_report(error.problems, ran=True), file=sys.stderr)
        return SOME_FAILED


# -- before the run -------------------------------------------------------------------------------


def prepare(options: Options) -> Plan:
    """Reads the config, resolves functions, loads data; finds all problems before raising.

    Raises:
        UserError: anything that stands in the way, one line each.
    """
    modes = {name: benchmark.modes for name, benchmark in BENCHMARK.items()}
    environ = WithStandIns(os.environ) if options.mode == "eval" else os.environ
    reading = read_config(options.config, datasets=modes, planned=PLANNED, environ=environ)
    secrets = SecretFilter(secrets_in(reading.texts, os.environ))
    secrets.install()
    for warning in [*reading.warnings, *odd_settings()]:
        print(f"warning: {warning}")
    entries = {n: e for n, e in reading.models.items() if not options.model or n in options.model}
    wanted = {n: e for n, e in reading.data.items() if not options.data or n in options.data}
    problems = list(reading.problems)
    problems += unknown_names("--model", options.model, reading.models)
    problems += unknown_names("--data", options.data, reading.data)
    broken: set[str] = set()
    for reference in reading.function_refs:
        if _is_left_out(reference.key_path, reading, entries, wanted):
            continue
        found = check_reference(reference)
        problems += found
        broken |= {reference.key_path} if found else set()
    problems += name_collisions(entries)
    problems += work_dir_problems(options.work_dir)
    models: dict[str, ModelWrapper] = {}
    for name, entry in entries.items():
        if entry is not None and not any(p.startswith(key_path("model", name)) for p in broken):
            model = build_model(name, entry, connections=options.api_nproc or MOST_IN_FLIGHT)
            models[name] = model
            if options.mode != "eval":
                where = f"{options.config}: {key_path('model', name)}"
                problems += [f"{where}: {problem}" for problem in model.problems()]
    data: dict[str, DataSet] = {}
    for name, asked in wanted.items():
        if asked is None or any(place.startswith(f"data.{name}.") for place in broken):
            continue
        benchmark = BENCHMARK[name](data_root() / "MMBench-GUI", image_root())
        data[name] = DataSet(benchmark, asked.mode, _parse_function(benchmark, asked))
        if options.mode != "eval":
            try:
                data[name].loaded = benchmark.load(asked.mode)
            except UserError as error:
                problems += error.problems
            else:
                problems += data[name].nothing_to_ask()
    for name in models:
        problems += RunFolder.for_today(options.work_dir, name, PROJECT).owner_problems(data)
    if options.strict:
        problems += [bad for name in data for bad in data[name].bad_samples]
    if problems or reading.config is None:
        raise UserError(list(dict.fromkeys(problems)))
    dump = redacted_dump(reading.config, secrets)
    return Plan(options, reading.config, dump, models, data, secrets)


def _is_left_out(
    place: str, reading: ConfigReading, models: Mapping[str, object], data: Mapping[str, object]
) -> bool:
    """Whether `--model` or `--data` leaves out what a key path belongs to."""
    others = [key_path("model", name) for name in reading.models if name not in models]
    others += [key_path("data", name) for name in reading.data if name not in data]
    return place.startswith(tuple(f"{other}." for other in others))


def _parse_function(benchmark: Benchmark, entry: DataEntry) -> ParseFunction:
    if not entry.parse_function:
        return benchmark.default_parse
    role = f"data.{benchmark.name}.parse_function"
    return parse_caller(resolve(entry.parse_function, role=role))


# -- check ----------------------------------------------------------------------------------------


def check(plan: Plan) -> int:
    """`--check`: reports what a run would do and everything that would go wrong."""
    for data in plan.data.values():
        print(f"{data.benchmark.name}: {len(data.loaded.samples)} samples, mode {data.mode}")
    samples = [sample for data in plan.data.values() for sample in data.loaded.samples]
    unreadable = checking.unreadable_pictures(samples)
    problems = [f"{image}: cannot be decoded: {why}" for image, why in unreadable.items()]
    for name, model in plan.models.items():
        print(f'\nmodel "{name}"')
        folder = RunFolder.for_today(plan.options.work_dir, name, PROJECT)
        for dataset in plan.data:
            asked = _questions(plan, name, dataset, folder)
            report, found = checking.check_questions(model, asked, keep_failed=plan.options.ignore)
            if plan.options.ping and not found:
                scorer = _scorer(plan, model, dataset, skip_errors=True)
                told, found = checking.ping(model, asked, scorer)
                report += told
            print("\n".join(report))
            problems += [f'model "{name}": {problem}' for problem in found]
    print("\n".join(console.render_left_out(plan.bad_samples)), end="")
    if problems:
        print(console.problem_report(problems), file=sys.stderr)
        return NOTHING_RUN
    print("\nNo problems." + ("" if plan.options.ping else " Nothing was asked."))
    return DONE


# -- the run --------------------------------------------------------------------------------------


def evaluate(plan: Plan) -> int:
    """Runs every model on every data set; a combination that fails does not stop the others."""
    print("\n".join(console.render_left_out(plan.bad_samples)), end="")
    codes = [SOME_FAILED if plan.bad_samples else DONE]
    for name, model in plan.models.items():
        try:
            codes.append(_evaluate_model(plan, name, model))
        except UserError as error:
            print(console.problem_report(error.problems, ran=True), file=sys.stderr)
            codes.append(SOME_FAILED)
        finally:
            model.close()
    return max(codes)


def _evaluate_model(plan: Plan, name: str, model: ModelWrapper) -> int:
    if plan.options.mode == "eval":
        return max([_rescore(plan, name, model, dataset) for dataset in plan.data], default=DONE)
    folder = RunFolder.for_today(plan.options.work_dir, name, PROJECT)
    print(f'\nmodel "{name}" → {folder.path}')
    code = DONE
    logs: list[RunLog] = []
    try:
        jobs = []
        for dataset in plan.data:
            logs.append(RunLog(folder.log(dataset)))
            jobs.append(_open_job(plan, name, dataset, folder, logs[-1]))
        _infer(plan, model, jobs)
        for job in jobs:
            if job.stopped is not None:
                print(console.problem_report(job.stopped.problems, ran=True), file=sys.stderr)
                code = SOME_FAILED
                continue
            partial_run = plan.options.limit is not None
            code = max(code, _write(plan, model, folder, job.dataset, partial_run=partial_run))
    finally:
        for log in logs:
            log.close()
    return code


def _questions(plan: Plan, name: str, dataset: str, folder: RunFolder) -> Questions:
    """What one model is asked of one data set, and what it has answered before."""
    entry, data = plan.config.model[name], plan.data[dataset]
    prompt_of = prompt_builder(
        data.benchmark,
        system_prompt=entry.kwargs.get("system_prompt"),
        custom=_prompt_function(entry, name, dataset),
    )
    return Questions(
        dataset=dataset,
        samples=data.loaded.samples[: plan.options.limit],
        episode=partial(data.benchmark.episode, prompt_of=prompt_of),
        answers=AnswerIndex.of_logs(folder.all_logs(dataset)),
    )


def _open_job(plan: Plan, name: str, dataset: str, folder: RunFolder, log: RunLog) -> Job:
    """Opens a run in its log."""
    asked, data = _questions(plan, name, dataset, folder), plan.data[dataset]
    record = run_record(
        model=name,
        dataset=dataset,
        mode=data.mode,
        limit=plan.options.limit,
        samples=[sample.key for sample in asked.samples],
        bad=[str(bad) for bad in data.loaded.bad],
        config=plan.dump,
        commit=git_commit(PROJECT),
    )
    log.append(plan.secrets.clean_object(record))
    return Job(**vars(asked), log=log)


def _prompt_function(entry: ModelEntry, name: str, dataset: str) -> Callable[..., Any] | None:
    dotted = (entry.custom_prompt or {}).get(dataset)
    return resolve(dotted, role=f'model."{name}".custom_prompt.{dataset}') if dotted else None


def _infer(plan: Plan, model: ModelWrapper, jobs: Sequence[Job]) -> None:
    options = plan.options
    looks = {job.dataset: _first_look(plan, model, job) for job in jobs}
    settings = EngineSettings(
        in_flight=options.api_nproc,
        policy=Policy(options.retry, options.outage_s, options.wait_for_server_s),
        fresh=options.fresh,
        keep_failed=options.ignore,
        skip_errors=is_set("SKIP_ERR"),
        clean=plan.secrets.clean_object,
        clean_text=plan.secrets.clean,
        on_answer=lambda dataset, record: looks[dataset].see(record),
        on_reason=console.show_reason if options.verbose else console.hide_reason,
    )
    progress = console.ConsoleProgress(sum(len(job.samples) for job in jobs), model.name)
    if any(job.has_new_samples for job in jobs):
        model.warm_up()
    cost = Stopwatch()
    try:
        Engine(model, settings, progress).run(jobs)
    finally:
        progress.close()
    for job in jobs:
        job.log.append(end_record(cost.wall_s, cost.cpu_s, asked=job.reasons, reused=job.reused))
        print(console.render_asked(job.dataset, job.reasons, job.reused))
    print(f"took {cost.wall_s:.1f} s ({cost.cpu_s:.1f} s of CPU)")


def _scorer(plan: Plan, model: ModelWrapper, dataset: str, *, skip_errors: bool) -> Scorer:
    data = plan.data[dataset]
    return Scorer(
        data.benchmark,
        postprocess=partial(model.postprocess, dataset=dataset),
        parse=data.parse,
        kwargs=plan.config.model[model.name].kwargs,
        skip_errors=skip_errors,
    )


def _first_look(plan: Plan, model: ModelWrapper, job: Job) -> FirstLook:
    return FirstLook(
        [sample.key for sample in job.samples],
        _scorer(plan, model, job.dataset, skip_errors=True),
        lambda text: print(f"warning: {model.name}, {job.dataset}: {text}", flush=True),
    )


def _rescore(plan: Plan, name: str, model: ModelWrapper, dataset: str) -> int:
    found = newest_log(plan.options.work_dir, name, dataset)
    if found is None:
        print(f'model "{name}", {dataset}: no log under {plan.options.work_dir}; run --mode infer')
        return SOME_FAILED
    folder, path = found
    try:
        log = RunLog(path)  # keeps others from writing while files are made
    except UserError as error:
        print(console.problem_report(error.problems, ran=True), file=sys.stderr)
        return SOME_FAILED
    try:
        return _write(plan, model, folder, dataset, partial_run=plan.options.limit is not None)
    finally:
        log.close()


def _write(
    plan: Plan, model: ModelWrapper, folder: RunFolder, dataset: str, *, partial_run: bool
) -> int:
    """Scores a log and writes the files derived from it."""
    options, data, clean = plan.options, plan.data[dataset], plan.secrets.clean_object
    with closing(LogView(folder.log(dataset))) as log:
        if options.mode == "infer":
            postprocess = partial(model.postprocess, dataset=dataset)
            whole = write_predictions(
                folder, dataset, log, postprocess, clean, partial_run=partial_run
            )
            return DONE if whole else SOME_FAILED
        partial_run = partial_run or log.is_limited or log.missing > 0 or not log.has(data.mode)
        scorer = _scorer(plan, model, dataset, skip_errors=is_set("SKIP_ERR"))
        records = records_to_score(log, data.benchmark, data.mode, options.limit)
        try:
            files, scores = write_results(
                folder, data.benchmark, log, records, scorer, os.environ, clean,
                partial_run=partial_run,
            )  # fmt: skip
        except StopRun as stop:  # this data set's functions; the others are scored all the same
            print(console.problem_report([f"{dataset}: {stop}"], ran=True), file=sys.stderr)
            return SOME_FAILED
    note = "" if data.mode == "all" else f" · {data.mode} only"
    note += " (partial)" if partial_run else ""
    table = data.benchmark.table(scores)
    print("\n" + console.render_table(table, model.name, scorer.counts["samples"], note=note))
    print("\n".join(console.render_summary(scorer, log.missing, verbose=options.verbose)))
    print(f"Files: {files[-1]} and {len(files) - 1} more beside it")
    return SOME_FAILED if scorer.has_failures or log.missing else DONE


if __name__ == "__main__":
    sys.exit(main())
