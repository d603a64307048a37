"""MMBench-GUI: measures how well a vision-language model understands graphical user interfaces.

    python evaluate.py --config configs/config_demo.json

arguments → config → check → for each model: infer → evaluate → write → summary
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import BENCHMARK, PLANNED
from benchmarks.base import Benchmark, Loaded
from models import build_model
from utils import checking, outputs
from utils.cli import Options, parse_arguments
from utils.concurrency import MOST_IN_FLIGHT
from utils.config import ConfigReading, ModelEntry, RunConfig, read_config, redacted_dump
from utils.console import ConsoleProgress, problem_report, render_summary, render_table
from utils.contracts import ModelWrapper
from utils.data_root import data_root, image_root
from utils.environment import PROJECT, is_set, load_dotenv_files, odd_settings
from utils.errors import UserError
from utils.import_utils import check_reference, parse_caller, resolve
from utils.inference_tools import Engine, EngineSettings, Interrupted, Job, Questions
from utils.outcomes import Policy
from utils.predictions import AnswerIndex, RunLog, read_log
from utils.prompting import prompt_builder
from utils.provenance import Stopwatch, end_record, run_record
from utils.run_folder import RunFolder, git_commit, name_collisions, newest_log
from utils.scoring import ScoredSet, predictions_of, score_log
from utils.secrets import SecretFilter, secrets_in
from utils.spelling import did_you_mean

DONE, SOME_FAILED, NOTHING_RUN, INTERRUPTED = 0, 1, 2, 130


@dataclass
class DataSet:
    """One data set of the run: the benchmark, its samples, and how replies are parsed."""

    benchmark: Benchmark
    mode: str
    parse: Callable[[str, Mapping[str, Any]], Any]
    loaded: Loaded = field(default_factory=lambda: Loaded([], []))


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
        """All samples that are left out, one line each."""
        return [f"{name}: {bad}" for name, data in self.data.items() for bad in data.loaded.bad]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    load_dotenv_files()
    options = parse_arguments(arguments)
    try:
        plan = prepare(options)
    except UserError as error:
        print(problem_report(error.problems), file=sys.stderr)
        return NOTHING_RUN
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        if options.check:
            return check(plan)
        return evaluate(plan)
    except (Interrupted, KeyboardInterrupt):
        print("Interrupted. Nothing that was answered is lost; the same command goes on from here.")
        return INTERRUPTED
    except UserError as error:
        print(problem_report(error.problems, ran=True), file=sys.stderr)
        return SOME_FAILED


# -- before the run -------------------------------------------------------------------------------


def prepare(options: Options) -> Plan:
    """Reads the config, resolves functions, loads data; finds all problems before raising.

    Raises:
        UserError: anything that stands in the way, one line each.
    """
    modes = {name: benchmark.modes for name, benchmark in BENCHMARK.items()}
    reading = read_config(options.config, datasets=modes, planned=PLANNED, environ=os.environ)
    secrets = SecretFilter(secrets_in(reading.texts, os.environ))
    secrets.install()
    for warning in [*reading.warnings, *odd_settings()]:
        print(f"warning: {warning}")
    problems = list(reading.problems)
    selected = _is_selected(reading, options, problems)
    for reference in reading.function_refs:
        if selected(reference.key_path):
            problems += check_reference(reference)
    if reading.config is None or problems:
        raise UserError(problems)
    config = reading.config
    entries = {n: e for n, e in config.model.items() if not options.model or n in options.model}
    problems += name_collisions(entries)
    models: dict[str, ModelWrapper] = {}
    for name, entry in entries.items():
        try:
            models[name] = build_model(name, entry, connections=options.api_nproc or MOST_IN_FLIGHT)
        except UserError as error:
            problems += error.problems
            continue
        if options.mode != "eval":
            where = f'{options.config}: model."{name}"'
            problems += [f"{where}: {problem}" for problem in models[name].problems()]
    data = {}
    for name, wanted in config.data.items():
        if options.data and name not in options.data:
            continue
        benchmark = BENCHMARK[name](data_root() / "MMBench-GUI", image_root())
        parse = _parse_function(benchmark, wanted.parse_function)
        data[name] = DataSet(benchmark, wanted.mode, parse)
        if options.mode == "eval":
            continue
        try:
            data[name].loaded = benchmark.load(wanted.mode)
        except UserError as error:
            problems += error.problems
    plan = Plan(options, config, redacted_dump(config, secrets), models, data, secrets)
    if options.strict:
        problems += plan.bad_samples
    if problems:
        raise UserError(list(dict.fromkeys(problems)))
    return plan


def _is_selected(
    reading: ConfigReading, options: Options, problems: list[str]
) -> Callable[[str], bool]:
    """Whether a key path is selected by `--model` and `--data`; unknown names are problems."""
    if reading.config is not None:
        for option, wanted, known in (
            ("--model", options.model, reading.config.model),
            ("--data", options.data, reading.config.data),
        ):
            for name in wanted:
                if name not in known:
                    hint = did_you_mean(name, list(known))
                    names = ", ".join(known)
                    problems.append(f"{option} {name}: not in the config{hint}; it has {names}")
    left_out = [f'model."{n}".' for n in _others(reading.config, "model", options.model)]
    left_out += [f"data.{n}." for n in _others(reading.config, "data", options.data)]
    return lambda key_path: not key_path.startswith(tuple(left_out))


def _others(config: RunConfig | None, section: str, wanted: Sequence[str]) -> list[str]:
    names = getattr(config, section, {})
    return [name for name in names if wanted and name not in wanted]


def _parse_function(
    benchmark: Benchmark, dotted: str | None
) -> Callable[[str, Mapping[str, Any]], Any]:
    if not dotted:
        return benchmark.default_parse
    return parse_caller(resolve(dotted, role=f"data.{benchmark.name}.parse_function"))


# -- check ----------------------------------------------------------------------------------------


def check(plan: Plan) -> int:
    """`--check`: reports what a run would do and everything that would go wrong."""
    problems: list[str] = []
    for data in plan.data.values():
        print(f"{data.benchmark.name}: {len(data.loaded.samples)} samples, mode {data.mode}")
        unreadable = checking.unreadable_pictures(data.loaded.samples)
        problems += [f"{image}: cannot be decoded: {why}" for image, why in unreadable.items()]
    for name, model in plan.models.items():
        print(f'\nmodel "{name}"')
        folder = RunFolder.for_today(plan.options.work_dir, name, PROJECT)
        for dataset in plan.data:
            asked = _questions(plan, name, dataset, folder)
            report, found = checking.check_questions(model, asked, keep_failed=plan.options.ignore)
            print("\n".join(report))
            problems += [f'model "{name}": {problem}' for problem in found]
    for bad in plan.bad_samples:
        print(f"left out: {bad}")
    if problems:
        print(problem_report(problems), file=sys.stderr)
        return NOTHING_RUN
    print("\nNo problems. Nothing was asked.")
    return DONE


# -- the run --------------------------------------------------------------------------------------


def evaluate(plan: Plan) -> int:
    """Runs every model on every data set; a combination that fails does not stop the others."""
    for bad in plan.bad_samples:
        print(f"left out: {bad}")
    codes = [SOME_FAILED if plan.bad_samples else DONE]
    for name, model in plan.models.items():
        try:
            codes.append(_evaluate_model(plan, name, model))
        except UserError as error:
            print(problem_report(error.problems, ran=True), file=sys.stderr)
            codes.append(SOME_FAILED)
        finally:
            model.close()
    return max(codes)


def _evaluate_model(plan: Plan, name: str, model: ModelWrapper) -> int:
    if plan.options.mode == "eval":
        return max(_rescore(plan, name, model, dataset) for dataset in plan.data)
    folder = RunFolder.for_today(plan.options.work_dir, name, PROJECT)
    print(f'\nmodel "{name}" → {folder.path}')
    code = DONE
    logs: list[RunLog] = []
    try:
        jobs = []
        for dataset in plan.data:
            folder.check_owner(dataset)
            logs.append(RunLog(folder.log(dataset)))
            jobs.append(_open_job(plan, name, dataset, folder, logs[-1]))
        _infer(plan, model, jobs)
        for job in jobs:
            if job.stopped is not None:
                print(problem_report(job.stopped.problems, ran=True), file=sys.stderr)
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
    settings = EngineSettings(
        in_flight=options.api_nproc,
        policy=Policy(options.retry, options.outage_s, options.wait_for_server_s),
        fresh=options.fresh,
        keep_failed=options.ignore,
        skip_errors=is_set("SKIP_ERR"),
        clean=plan.secrets.clean_object,
        on_reason=(lambda key, why: print(f"asking {key}: {why}")) if options.verbose else _quiet,
    )
    progress = ConsoleProgress(sum(len(job.samples) for job in jobs), model.name)
    cost = Stopwatch()
    try:
        Engine(model, settings, progress).run(jobs)
    finally:
        progress.close()
    for job in jobs:
        job.log.append(end_record(cost.wall_s, cost.cpu_s, asked=job.reasons, reused=job.reused))
        asked = ", ".join(f"{count} {reason}" for reason, count in sorted(job.reasons.items()))
        print(f"{job.dataset}: asked {job.reasons.total()}" + (f" ({asked})" if asked else "")
              + f", reused {job.reused}")  # fmt: skip


def _rescore(plan: Plan, name: str, model: ModelWrapper, dataset: str) -> int:
    found = newest_log(plan.options.work_dir, name, dataset)
    if found is None:
        print(f'model "{name}", {dataset}: no log under {plan.options.work_dir}; run --mode infer')
        return SOME_FAILED
    folder, path = found
    log = RunLog(path)  # keeps others from writing while files are made
    try:
        return _write(plan, model, folder, dataset, partial_run=plan.options.limit is not None)
    finally:
        log.close()


def _write(
    plan: Plan, model: ModelWrapper, folder: RunFolder, dataset: str, *, partial_run: bool
) -> int:
    """Scores a log and writes the files derived from it."""
    options, data = plan.options, plan.data[dataset]
    benchmark = data.benchmark
    content = read_log(folder.log(dataset))
    postprocess = partial(model.postprocess, dataset=dataset)
    if options.mode == "infer":
        rows = predictions_of(content, postprocess)
        sheet = folder.file(dataset, ".xlsx", partial=partial_run)
        outputs.write_sheet(sheet, outputs.columns_of(rows), rows)
        folder.link_newest([sheet, folder.log(dataset)])
        return DONE
    scored = score_log(
        content,
        benchmark,
        mode=data.mode,
        limit=options.limit,
        postprocess=postprocess,
        parse=data.parse,
        kwargs=plan.config.model[model.name].kwargs,
        settings=os.environ,
        skip_errors=is_set("SKIP_ERR"),
    )
    partial_run = partial_run or scored.missing > 0
    files = _write_files(folder, benchmark, scored, dataset, partial_run=partial_run)
    folder.link_newest([*files, folder.log(dataset)])
    note = " (partial)" if partial_run else ""
    print()
    print(render_table(benchmark.table(scored.scores), model.name, len(scored.samples), note=note))
    print("\n".join(render_summary(scored, verbose=options.verbose)))
    print(f"Files: {files[-1]}" + (f" and {len(files) - 1} more beside it" if files[1:] else ""))
    bad = scored.counts["failed"] + scored.counts["refused"] + scored.missing
    return SOME_FAILED if bad else DONE


def _write_files(
    folder: RunFolder, benchmark: Benchmark, scored: ScoredSet, dataset: str, *, partial_run: bool
) -> list[Path]:
    name = partial(folder.file, dataset, partial=partial_run)
    predictions = [{**s.line, "prediction": s.prediction} for s in scored.samples]
    if benchmark.level == "L1":
        results = [{**row, **s.judgement.columns}
                   for row, s in zip(predictions, scored.samples, strict=True)]  # fmt: skip
    else:
        results = [dict(s.judgement.columns) for s in scored.samples]
    files = [
        name(".xlsx"),
        name(f"_{benchmark.result_suffix}.xlsx"),
        name(f"_{benchmark.score_suffix}.json"),
    ]
    outputs.write_sheet(files[0], outputs.columns_of(predictions), predictions)
    outputs.write_sheet(files[1], outputs.columns_of(results), results)
    outputs.write_json(files[2], scored.scores)
    return files


def _quiet(key: str, reason: str) -> None:
    """Reasons are printed as counts only, unless `--verbose`."""


if __name__ == "__main__":
    sys.exit(main())
