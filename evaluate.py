"""MMBench-GUI: measures how well a vision-language model understands graphical user interfaces.

    python evaluate.py --config configs/config_demo.json

arguments → config → check → for each model: infer → evaluate → write → summary
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence

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
    read_config,
    redacted_dump,
)
from utils.config_text import key_path
from utils.contracts import ModelWrapper
from utils.data_root import data_root, image_root
from utils.derived_files import scorer_of
from utils.environment import PROJECT, WithStandIns, load_dotenv_files, odd_settings
from utils.errors import UserError
from utils.exit_codes import DONE, INTERRUPTED, NOTHING_RUN, SOME_FAILED
from utils.import_utils import check_reference, parse_caller, resolve
from utils.inference_tools import Interrupted
from utils.model_runs import evaluate_model, questions_of
from utils.plan import Plan
from utils.run_folder import (
    RunFolder,
    name_collisions,
    work_dir_problems,
)
from utils.secrets import SecretFilter, secrets_in


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
            asked = questions_of(plan, name, dataset, folder)
            report, found = checking.check_questions(model, asked, keep_failed=plan.options.ignore)
            if plan.options.ping and not found:
                scorer = scorer_of(plan, model, dataset, skip_errors=True)
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
            codes.append(evaluate_model(plan, name, model))
        except UserError as error:
            print(console.problem_report(error.problems, ran=True), file=sys.stderr)
            codes.append(SOME_FAILED)
        finally:
            model.close()
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
