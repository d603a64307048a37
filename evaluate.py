"""MMBench-GUI: measures how well a vision-language model understands graphical user interfaces.

    python evaluate.py --config configs/config_demo.json

arguments → config → check → for each model: infer → evaluate → write → summary
"""

from __future__ import annotations

import gc
import sys

if __name__ == "__main__":  # ahead of the imports that would end in a traceback
    gc.disable()  # what imports make stays; to look for garbage in it takes a tenth of the start
    from utils.errors import stop_unless_ready

    stop_unless_ready(
        "PIL",
        "blake3",
        "dotenv",
        "filelock",
        "numpy",
        "pybase64",
        "pydantic",
        "tqdm",
        "xlsxwriter",
        program="evaluate.py",
    )

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import BENCHMARK
from benchmarks.base import fill
from benchmarks.circular import Circular
from models import argument_findings, build_model
from utils.config.environment import load_dotenv_files, odd_settings
from utils.config.options import (
    HelpShown,
    Options,
    UsageError,
    names_of_levels,
    options_of,
    parse_arguments,
    unknown_names,
)
from utils.config.read import ConfigReading, read_config
from utils.config.secret_filter import SecretFilter, mask_config, protect_output, secrets_in
from utils.config.text import key_path
from utils.contracts import DataSet, ModelWrapper, ParseFunction
from utils.engine.gate import MOST_IN_FLIGHT
from utils.engine.interrupt import end_like_ctrl_c, leave
from utils.engine.ranks.group import SHARED_TYPES, Rank, rank_of
from utils.engine.ranks.runs import rank_0_speaks, speak_of_errors_only
from utils.errors import DONE, INTERRUPTED, NOTHING_RUN, SOME_FAILED, UserError, problem_report
from utils.functions.signatures import parse_caller
from utils.images import data_root, image_root
from utils.import_utils import check_reference, resolve, search_beside
from utils.inference_tools import Interrupted
from utils.results.load import RunResults, errors_for_callers, load_run, results_written
from utils.run.check import check
from utils.run.plan import Plan
from utils.run.runner import has_answers, run_plan
from utils.runs.folder import name_collisions, work_dir_problems

__all__ = ["load_run", "main", "run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, also for `--help` and bad arguments."""
    protect_output()
    given = [*map(str, sys.argv[1:] if arguments is None else arguments)]
    compared = [each.removeprefix("--compare=") for each in given if each != "--compare"]
    if compared != given:
        from utils.comparing.command import main as compare

        if os.environ.get("RANK", "0") != "0":  # under torchrun one comparison is enough
            return DONE
        return compare(compared)
    rank: Rank | None = None
    try:
        load_dotenv_files()
        options = parse_arguments(given)
        end_like_ctrl_c()
        rank = rank_of(os.environ)
        if rank is not None and not rank.leads:
            if options.check or options.mode == "eval":
                return DONE
            speak_of_errors_only(rank)
        plan, *others = plans_of(options, rank)
    except HelpShown:
        return DONE
    except UsageError as error:
        print(error, file=sys.stderr)
        return NOTHING_RUN
    except UserError as error:
        if not rank_0_speaks(rank):
            print(problem_report(error.problems), file=sys.stderr)
        return NOTHING_RUN
    except KeyboardInterrupt:
        return INTERRUPTED
    try:
        if options.check:
            return check(plan)
        if others:
            return compare_paths([plan, *others])
        return run_plan(plan, rank)[0]
    except (Interrupted, KeyboardInterrupt):
        kept = "There is no answer yet: the same command begins again."
        if any(has_answers(each) for each in (plan, *others)):
            kept = f"All answers are kept: {options.to_go_on}; --mode eval scores them."
        print(f"Interrupted. {kept}")
        return INTERRUPTED
    except UserError as error:
        print(problem_report(error.problems, ran=not options.check), file=sys.stderr)
        return NOTHING_RUN if options.check else SOME_FAILED


def run(config: str | Path, **options: Any) -> list[RunResults]:
    """Runs a config from Python, as the command line does, in this process.

        results = run("configs/my_model.json", model="my-model", limit=20)
        results[0].table("GUIElementGrounding")

    Args:
        config: the config file.
        options: those of the command line with `_` for `-`: `data`, `model` (a name or a list),
            `work_dir`, `mode`, `api_nproc`, `limit`, `fresh=True`, ...

    Returns:
        What each model came to, in the order of the config. Samples without an answer count as
        wrong in the scores and raise nothing; `samples["status"]` tells which they are.

    Raises:
        UserError: all problems, before the run or after it.
        Interrupted: Ctrl-C; the same call continues from there.
    """
    load_dotenv_files()
    with errors_for_callers():
        _, done = run_plan(replace(prepare(options_of(config, options)), is_quiet=True))
        folders = list(dict.fromkeys(each.folder for each in done if each.folder is not None))
        stopped = [problem for each in done for problem in each.problems]
        if stopped:  # all else was written and can be loaded
            kept = [str(folder.path) for folder in folders if folder.has_answers]
            where = f"All answers are kept: {', '.join(kept)}" if kept else ""
            raise UserError([*stopped, *filter(None, [where])])
        scored = [(each.folder, each.dataset) for each in done if each.is_scored]
        return [
            results_written(one.path, one.model, [name for at, name in scored if at == one])
            for one in folders
        ]


# -- before the run -------------------------------------------------------------------------------


def plans_of(options: Options, rank: Rank | None) -> list[Plan]:
    """The run that is asked for; with `--parity` two.

    Raises:
        UserError: anything that stands in the way, one line each.
    """
    if options.parity is None:
        return [prepare(options, rank)]
    if rank is not None:
        raise UserError("--parity compares in one process; start it without torchrun")
    from utils.comparing.why import two_models

    plans = []
    for each in [replace(options, config=path) for path in (options.config, options.parity)]:
        known = _reading(each).models  # a name of --model may be one of the other config
        own = tuple(name for name in options.model if name in known)
        plans.append(prepare(replace(each, model=own)))
    both = [list(plan.models) for plan in plans]
    names = two_models([options.config, options.parity], both, options.model)
    return [replace(plan, models={n: plan.models[n]}) for plan, n in zip(plans, names, strict=True)]


def _reading(options: Options) -> ConfigReading:
    modes = {name: benchmark.modes for name, benchmark in BENCHMARK.items()}
    return read_config(
        options.config,
        datasets=modes,
        environ=os.environ,
        unset="not-set" if options.mode == "eval" else None,  # scoring sends no key anywhere
        arguments=argument_findings,
    )


def prepare(options: Options, rank: Rank | None = None) -> Plan:
    """Reads the config, resolves functions, loads data; finds all problems before raising.

    Args:
        rank: of this process in a group; ranks other than 0 leave out models that 0 asks alone.

    Raises:
        UserError: anything that stands in the way, one line each.
    """
    levels = [(benchmark.level, name) for name, benchmark in BENCHMARK.items()]
    options = replace(options, data=names_of_levels(options.data, levels))
    search_beside(options.config)
    reading = _reading(options)
    secrets = SecretFilter(secrets_in(reading.texts, os.environ))
    protect_output(secrets)
    warnings = [*reading.warnings, *odd_settings()]
    print("".join(f"warning: {warning}\n" for warning in warnings), end="")
    entries = {n: e for n, e in reading.models.items() if not options.model or n in options.model}
    if rank is not None and not rank.leads:
        entries = {n: e for n, e in entries.items() if e is None or e.imp_type in SHARED_TYPES}
    wanted = {n: e for n, e in reading.data.items() if not options.data or n in options.data}
    problems = list(reading.problems)
    problems += unknown_names("--model", options.model, reading.models)
    problems += unknown_names("--data", options.data, reading.data)
    left_out = tuple(
        [f"{key_path('model', name)}." for name in reading.models if name not in entries]
        + [f"{key_path('data', name)}." for name in reading.data if name not in wanted]
    )
    broken: set[str] = set()
    for reference in reading.function_refs:
        if not reference.key_path.startswith(left_out) and (found := check_reference(reference)):
            problems += found
            broken.add(reference.key_path)
    problems += name_collisions(entries)
    problems += work_dir_problems(options.work_dir)
    models: dict[str, ModelWrapper] = {}
    for name, entry in entries.items():
        place = key_path("model", name)
        if entry is not None and not any(each.startswith(place) for each in broken):
            model = build_model(name, entry, connections=options.api_nproc or MOST_IN_FLIGHT)
            models[name] = model
            if options.mode != "eval":
                problems += [f"{options.config}: {place}: {each}" for each in model.problems()]
    data: dict[str, DataSet] = {}
    home, pictures = data_root() / "MMBench-GUI", image_root()
    for name, asked in wanted.items():
        if asked is None or any(place.startswith(f"data.{name}.") for place in broken):
            continue
        benchmark = BENCHMARK[name](home, pictures)
        dotted = getattr(asked, "environment", None)
        environment = dotted and resolve(dotted, role=f"data.{name}.environment")
        benchmark.configure({**dict(asked), "environment": environment})
        has_own = asked.parse_function or any(
            each and name in each.parse_function for each in entries.values()
        )
        rotations = Circular(bool(has_own))
        circular = rotations if asked.circular else None
        parse: ParseFunction = benchmark.default_parse
        if asked.parse_function:
            function = resolve(asked.parse_function, role=f"data.{name}.parse_function")
            parse = parse_caller(function)
        data[name] = DataSet(benchmark, asked.mode, parse, circular, rotations)
        if options.mode != "eval":
            try:
                problems += [f"{name}: {problem}" for problem in benchmark.problems()]
                for note in fill(data[name], benchmark):
                    warnings.append(note)
                    print(f"warning: {name}: {note}")
            except UserError as error:
                problems += error.problems
    if options.strict:
        problems += [bad for each in data.values() for bad in each.bad_grouped]
    if problems or reading.config is None:
        raise UserError(list(dict.fromkeys(problems)))
    dump = secrets.clean_object(mask_config(reading.config.dump()))
    return Plan(options, reading.config, dump, models, data, secrets, len(warnings))


# -- two ways to one model ------------------------------------------------------------------------


def compare_paths(plans: Sequence[Plan]) -> int:
    """`--parity`: runs both, then prints why their replies differ."""
    from utils.comparing.runs import PARITY, read_runs
    from utils.comparing.why import explain

    ran = [run_plan(plan) for plan in plans]
    folders = [each.folder.path for _, done in ran for each in done[:1] if each.folder is not None]
    code = max(code for code, _ in ran)
    if len(folders) < len(plans):
        return code
    first, second = read_runs(folders)
    is_same = explain(first, second, plans[0].options.work_dir / PARITY)
    return code if is_same else max(code, SOME_FAILED)


if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    leave(main())
