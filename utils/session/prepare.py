"""Make the plan of a run from its options: config, functions, models, data.

Every step returns a value and its problems, so that a user learns of all of them at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from utils.config.environment import odd_settings
from utils.config.options import Options, names_of_levels, unknown_names
from utils.config.read import (
    ConfigReading,
    ConfigSource,
    own_problems,
    read_config,
)
from utils.config.schema import ModelEntry, RunConfig, judge_of
from utils.config.secret_filter import SecretFilter, mask_config, protect_output, secrets_in
from utils.config.text import KeyProblem, key_path
from utils.contracts import Benchmark, DataSet, ModelWrapper, ParseFunction
from utils.engine.gate import MOST_IN_FLIGHT
from utils.engine.ranks.group import SHARED_TYPES, Rank
from utils.errors import UserError
from utils.functions.signatures import parse_caller
from utils.import_utils import check_reference, search_beside
from utils.judging.judge import Judge
from utils.scoring.doubtful import DoubtfulRows, doubtful_problems, read_doubtful
from utils.sections import DataSection, OpenSection
from utils.session.evaluation import Evaluation, UserFunction
from utils.session.plan import Plan, has_replicas
from utils.store.folder import RunFolder, all_logs, name_collisions, safe_name, work_dir_problems
from utils.store.index import is_of_server, servers_in
from utils.subsets import Label, Only, UnknownLabels, filters_of, is_subset, only_of
from utils.text import listed


class BenchmarkRoom(Protocol):
    """The package `benchmarks`, which `utils` does not import."""

    @property
    def BENCHMARK(self) -> Mapping[str, type[Benchmark]]:
        """The benchmarks by data set."""

    @property
    def LEVELS(self) -> Mapping[str, str]:
        """Full names of data sets by their levels."""

    def build_data_set(
        self,
        name: str,
        settings: Mapping[str, Any],
        *,
        parse: ParseFunction | None,
        has_own_parser: bool,
    ) -> DataSet:
        """A data set without its samples."""

    def load_samples(
        self,
        data: DataSet,
        /,
        *,
        needs_images: bool = True,
        passed_over: Collection[Label] = (),
    ) -> tuple[list[str], list[str]]:
        """Load samples; return what a user should know about them, and the problems."""

    def count_rows(self, data: DataSet, /) -> tuple[int, int]:
        """Count the rows of a data set in its mode, and those of them that its labels choose."""


class ModelRoom(Protocol):
    """The package `models`, which `utils` does not import."""

    def argument_problems(self, imp_type: str, entry: Mapping[str, Any]) -> Iterable[KeyProblem]:
        """The problems with the arguments of a model entry."""

    def build_model(
        self,
        name: str,
        entry: ModelEntry,
        function_at: Callable[[str], Callable[..., Any] | None],
        *,
        connections: int,
    ) -> ModelWrapper:
        """The wrapper of a model entry."""

    def recipe_lines(self, names: Sequence[str]) -> list[str]:
        """The output of `--recipes`, line by line."""

    def served_models(self, model_path: str) -> list[str]:
        """The names of the models that an endpoint offers; none where it does not say."""

    def recipes_for(self, names: Sequence[str]) -> list[str]:
        """The recipes whose family a checkpoint of these names is of."""

    def names_in_checkpoint(self, model_path: str) -> list[str]:
        """The names that a checkpoint's own config gives it."""

    def checkpoint_problems(self, model_path: str) -> list[str]:
        """The reasons why a path is no checkpoint's folder, one line each."""

    def near_recipes(self, name: str) -> list[str]:
        """The recipes for checkpoints whose names are like this one."""


def prepare(
    options: Options, benchmarks: BenchmarkRoom, models: ModelRoom, rank: Rank | None = None
) -> Plan:
    """Read the config, resolve functions, load data; find all problems before raising.

    Args:
        rank: of this process among several; ranks other than 0 leave out models that 0 asks alone.

    Raises:
        UserError: anything that stands in the way, one line each.
    """
    options = replace(options, data=names_of_levels(options.data, benchmarks.LEVELS))
    search_beside(options.config)
    reading = read(options, benchmarks, models)
    if options.model_glob is not None:  # --model has named the entry that its checkpoints share
        options = replace(options, model=())
    secrets = SecretFilter(secrets_in(reading.texts, os.environ))
    protect_output(secrets)
    warnings = [*reading.warnings, *odd_settings()]
    for warning in warnings:
        print(f"warning: {warning}")
    if rank is not None and rank.slurm_step and not any(map(has_replicas, reading.models.values())):
        rank = None  # each process of an srun is a run by itself
    model_entries, data_entries = _selected(options, reading, rank)
    functions = Functions(reading, [*model_entries], [*data_entries])
    wrappers, model_problems = _build_models(options, model_entries, functions, models)
    judges, judge_problems = _build_judges(options, data_entries, functions, models)
    for model in [*wrappers.values(), *(judge.model for judge in judges.values())]:
        if model.servers is not None:
            model.servers.clean = secrets.clean
    data = _build_data(data_entries, model_entries, functions, benchmarks)
    own_problems = _problems_of_own(options, data_entries, data)
    notes: list[str] = []
    data_problems: list[str] = []
    if options.mode != "eval":
        usable = {name: data_set for name, data_set in data.items() if name not in own_problems}
        notes, data_problems, left_out = _load(usable, benchmarks, only_of(options.only))
    else:
        data_problems, left_out = _without_rows(options, data, wrappers, benchmarks)
    data = {name: data_set for name, data_set in data.items() if name not in left_out}
    doubtful, problems_of_rows = _doubtful(options, data_entries)
    problems = [
        *reading.problems,
        *unknown_names("--model", options.model, reading.models),
        *unknown_names("--data", options.data, reading.data),
        *functions.problems,
        *name_collisions(model_entries),
        *work_dir_problems(options.work_dir),
        *_missing_trackers(options.log_to),
        *model_problems,
        *judge_problems,
        *_judge_to_retry(options, data_entries),
        *_servers_to_retry(options, model_entries, data_entries),
        *[problem for problems_of_one in own_problems.values() for problem in problems_of_one],
        *data_problems,
        *problems_of_rows,
    ]
    if options.strict:
        problems += [problem for data_set in data.values() for problem in data_set.bad_grouped]
    if problems or reading.config is None:
        raise UserError(list(dict.fromkeys(problems)))
    if options.mode != "eval":
        notes += _repeats_alike(wrappers, data)
    dump = secrets.clean_object(mask_config(reading.config.dump()))
    return Plan(
        options,
        wrappers,
        data,
        {
            name: [
                _evaluation(
                    reading.config,
                    functions,
                    judges.get(dataset),
                    options=options,
                    config=dump,
                    secrets=secrets,
                    model=model,
                    data=data_set,
                    doubtful=doubtful,
                )
                for dataset, data_set in data.items()
            ]
            for name, model in wrappers.items()
        },
        secrets,
        judges=judges,
        warnings=len(warnings) + len(notes),
        rank=rank,
    )


class Functions:
    """The user's functions and classes that the config names, by key path, and what is wrong."""

    def __init__(
        self, reading: ConfigReading, models: Collection[str], data: Collection[str]
    ) -> None:
        """Resolve all that the named models and data sets need."""
        left_out = tuple(
            [f"{key_path('model', name)}." for name in reading.models if name not in models]
            + [f"{key_path('data', name)}." for name in reading.data if name not in data]
        )
        self._by_key: dict[str, UserFunction] = {}
        self._broken: list[str] = []
        self.problems: list[str] = []
        for reference in reading.function_refs:
            if reference.key_path.startswith(left_out):
                continue
            function, problems = check_reference(reference)
            if function is None or problems:
                self.problems += problems
                self._broken.append(reference.key_path)
            else:
                self._by_key[reference.key_path] = UserFunction(reference.dotted, function)

    def at(self, *path: str | int) -> Callable[..., Any] | None:
        """The function at a key path; None: there is none."""
        user_function = self._by_key.get(key_path(*path))
        return user_function.function if user_function else None

    def by_stage(self, config: RunConfig, model: str, dataset: str) -> dict[str, UserFunction]:
        """The functions of one model on one data set, by stage."""
        _, parse_key = config.parser_of(model, dataset)
        keys = {
            "prompt": key_path("model", model, "custom_prompt", dataset),
            "preprocess": key_path("model", model, "preprocess_function"),
            "postprocess": key_path("model", model, "postprocess_function"),
            "parse": parse_key,
            "follow_up": key_path("model", model, "follow_up", dataset),
        }
        return {stage: self._by_key[key] for stage, key in keys.items() if key in self._by_key}

    def is_broken_below(self, *path: str) -> bool:
        """Whether a function below a key path cannot be used."""
        return any(key.startswith(f"{key_path(*path)}.") for key in self._broken)


def _evaluation(
    run_config: RunConfig, functions: Functions, judge: Judge | None, **common: Any
) -> Evaluation:
    """One model on one data set of a config; `common` is handed on."""
    name, dataset = common["model"].name, common["data"].benchmark.name
    entry = run_config.model[name]
    settings = judge_of(run_config.data[dataset])
    if judge is not None and settings is not None:
        from utils.judging.scoring import same_model_warning  # loaded only where there is a judge

        judge = replace(judge, warning=same_model_warning(entry, settings.model))
    _, parser_setting = run_config.parser_of(name, dataset)
    if len(run_config.model) > 1:
        parser_setting = key_path("model", name, "parse_function", dataset)
    return Evaluation(
        entry=entry,
        functions=functions.by_stage(run_config, name, dataset),
        parser_setting=parser_setting,
        recipe=run_config.recipes.get(name),
        judge=judge,
        **common,
    )


def read(options: Options, benchmarks: BenchmarkRoom, models: ModelRoom) -> ConfigReading:
    """Read the config of some options, with all that is wrong with it."""
    source = ConfigSource(
        options.config,
        os.environ,
        unset="not-set" if options.mode == "eval" else None,  # scoring sends no key anywhere
        content=options.content,
        changes=options.set,
        seeds_text=options.seeds_from,
        checkpoints=options.model_glob,
        selected_models=options.model,
        only=options.only,
        data=options.data,
        levels=benchmarks.LEVELS,
    )
    return read_config(source, benchmarks.BENCHMARK, models.argument_problems)


def _selected(
    options: Options, reading: ConfigReading, rank: Rank | None
) -> tuple[dict[str, ModelEntry | None], dict[str, DataSection | None]]:
    """The models and data sets that a run is about; None for those with problems."""
    models = {
        name: entry
        for name, entry in reading.models.items()
        if not options.model or name in options.model
    }
    if rank is not None and not rank.leads:
        models = {
            name: entry
            for name, entry in models.items()
            if entry is None or _has_part_in(entry, rank)
        }
    data = {
        name: entry
        for name, entry in reading.data.items()
        if not options.data or name in options.data
    }
    if options.run_folder is not None:
        models, data = _of_folder(options.run_folder, models, data)
    return models, data


def _of_folder(
    folder: Path, models: dict[str, ModelEntry | None], data: dict[str, DataSection | None]
) -> tuple[dict[str, ModelEntry | None], dict[str, DataSection | None]]:
    """The model and the data sets that a run folder has answers of.

    Raises:
        UserError: there are none.
    """
    models_of_folder = {
        name: entry for name, entry in models.items() if safe_name(name) == folder.parent.name
    }
    sets_of_folder = {
        dataset: entry
        for name in models_of_folder
        for dataset, entry in data.items()
        if RunFolder(name, folder).log(dataset).is_file()
    }
    if not sets_of_folder:
        raise UserError(
            f"--run-folder {folder}: has no answers of {listed([*models])} on {listed([*data])}. "
            "Expected <work-dir>/<model>/T<date>_G<commit> of a model and a data set in the config"
        )
    return models_of_folder, sets_of_folder


def _has_part_in(entry: ModelEntry, rank: Rank) -> bool:
    """Whether a rank other than 0 queries a part of a model's samples, or starts its servers."""
    if has_replicas(entry):
        return rank.leads_machine and rank.machines > 1
    return entry.imp_type in SHARED_TYPES and not rank.slurm_step


def _build_models(
    options: Options,
    entries: Mapping[str, ModelEntry | None],
    functions: Functions,
    room: ModelRoom,
) -> tuple[dict[str, ModelWrapper], list[str]]:
    models: dict[str, ModelWrapper] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        if entry is None or functions.is_broken_below("model", name):
            continue
        models[name] = room.build_model(
            name,
            entry,
            partial(functions.at, "model", name),
            connections=options.api_nproc or MOST_IN_FLIGHT,
        )
        if options.mode != "eval":
            path = key_path("model", name)
            problems += [
                f"{options.config}: {path}: {problem}" for problem in models[name].problems()
            ]
    return models, problems


def _build_judges(
    options: Options,
    entries: Mapping[str, DataSection | None],
    functions: Functions,
    room: ModelRoom,
) -> tuple[dict[str, Judge], list[str]]:
    """The judges of data sets that have one, and what stands in their way."""
    judges: dict[str, Judge] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        path = ("data", name, "judge")
        settings = judge_of(entry)
        if settings is None or functions.is_broken_below(*path):
            continue
        model = room.build_model(
            "judge",
            settings.model,
            partial(functions.at, *path),
            connections=options.api_nproc or MOST_IN_FLIGHT,
        )
        if options.mode != "eval":
            problems += [
                f"{options.config}: {key_path(*path)}: {problem}" for problem in model.problems()
            ]
        judges[name] = Judge(model, settings.max_requests, settings.audit_samples)
    return judges, problems


def _doubtful(options: Options, datasets: Collection[str]) -> tuple[DoubtfulRows | None, list[str]]:
    """The rows of `--doubtful`, and what stands in their way."""
    if options.doubtful is None:
        return None, []
    try:
        rows = read_doubtful(options.doubtful)
    except UserError as error:
        return None, [*error.problems]
    return rows, doubtful_problems(rows, [*datasets])


def _missing_trackers(names: Sequence[str]) -> list[str]:
    """Return a problem for each tracker of `--log-to` whose package is not installed."""
    return [
        f"--log-to {name}: the package {name} is not installed; run: pip install {name}"
        for name in names  # packages are called as their trackers
        if find_spec(name) is None
    ]


def _judge_to_retry(options: Options, entries: Mapping[str, DataSection | None]) -> list[str]:
    """Say that no judge can be asked again, where `--retry-judge` wants that."""
    has_judge = any(entry is None or judge_of(entry) for entry in entries.values())
    if has_judge or not options.retry_judge:
        return []
    return ['--retry-judge: no data set of this run has match_mode "judge"']


def _servers_to_retry(
    options: Options, models: Mapping[str, ModelEntry | None], datasets: Collection[str]
) -> list[str]:
    """Say that no stored answer is from a server of `--retry-server`, or a new one would not say.

    The answers of a single address have no server, and replace the others in the counts.
    """
    if not options.retry_server:
        return []
    single = [
        name
        for name, entry in models.items()
        if entry is not None and entry.imp_type == "openai" and not entry.servers
    ]
    if single:
        return [
            f"model.{name}.model_path: is one address; with --retry-server, write it as a list, "
            '["http://..."], so that the new answers name their server, too'
            for name in single
        ]
    logs = [
        log
        for model in models
        for dataset in datasets
        for log in all_logs(options.work_dir, model, dataset)
    ]
    servers = servers_in(logs)
    known = "No stored answer has the name of a server: only runs with several servers write it"
    if servers:
        known = f"The stored answers are from {listed(servers, 20)}"
    return [
        f"--retry-server {name}: no stored answer is from this server. {known}"
        for name in options.retry_server
        if not any(is_of_server(server, name) for server in servers)
    ]


def _build_data(
    entries: Mapping[str, DataSection | None],
    models: Mapping[str, ModelEntry | None],
    functions: Functions,
    room: BenchmarkRoom,
) -> dict[str, DataSet]:
    data: dict[str, DataSet] = {}
    for name, entry in entries.items():
        if entry is None or functions.is_broken_below("data", name):
            continue
        settings = dict(entry)
        for key in ("environment", "benchmark", *entry.functions):
            settings[key] = functions.at("data", name, key) or settings.get(key)
        settings["audits"] = {
            path: functions.at("data", name, "audits", number)
            for number, path in enumerate(entry.audits)
        }
        function = functions.at("data", name, "parse_function")
        parse = function and parse_caller(function)
        is_read_by_model = any(
            model is not None and name in model.parse_function for model in models.values()
        )
        data[name] = room.build_data_set(
            name, settings, parse=parse, has_own_parser=parse is not None or is_read_by_model
        )
    return data


def _problems_of_own(
    options: Options, entries: Mapping[str, DataSection | None], data: Mapping[str, DataSet]
) -> dict[str, list[str]]:
    """Return wrong keys and modes of benchmarks of the user's, by data set."""
    problems: dict[str, list[str]] = {}
    for name, data_set in data.items():
        entry = entries[name]
        if not isinstance(entry, OpenSection) or "." not in (entry.benchmark or ""):
            continue
        benchmark = data_set.benchmark
        for path, what in own_problems(entry, benchmark):
            problems.setdefault(name, []).append(
                f"{options.config}: {key_path('data', name, *path)}: {what}"
            )
    return problems


def _repeats_alike(models: Mapping[str, ModelWrapper], data: Mapping[str, DataSet]) -> list[str]:
    """Warn where each of the repeats will get the same answer; return what was printed."""
    notes: list[str] = []
    for dataset, data_set in data.items():
        for name, model in models.items() if data_set.repeats > 1 else ():
            setting = model.fixed_by()
            if setting:
                notes.append(
                    f'data.{dataset}.repeats: model "{name}": {setting}, so all '
                    f"{data_set.repeats} answers to a question may be the same"
                )
    for note in notes:
        print(f"warning: {note}")
    return notes


def _load(
    data: Mapping[str, DataSet], room: BenchmarkRoom, typed: Only
) -> tuple[list[str], list[str], list[str]]:
    """Load the samples of all data sets.

    Args:
        typed: what `--only` says. A label of it may be one of some data sets alone; the others are
            left out. A label in the config has to be one of its data set.

    Returns:
        What was printed about the samples, problems, and the names of data sets that are left out.
    """
    notes: list[str] = []
    problems: list[str] = []
    lacking: dict[str, UnknownLabels] = {}
    for name, data_set in data.items():
        try:
            notes_of_set, problems_of_set = room.load_samples(data_set)
        except UnknownLabels as error:
            lacking[name] = error
            continue
        notes += _printed(name, notes_of_set)
        problems += problems_of_set
    nobodys = frozenset[Label]()
    if lacking and len(lacking) == len(data):
        nobodys = frozenset.intersection(*(unknown.labels for unknown in lacking.values()))
    left_out = [name for name, unknown in lacking.items() if _is_empty(typed, unknown.labels)]
    if not typed or nobodys or (lacking and len(left_out) == len(data)):
        for unknown in lacking.values():
            problems += unknown.lines(is_typed=bool(typed))
        return notes, problems, []
    for name, unknown in lacking.items():
        labels = ", ".join(f"{grouping}={label}" for grouping, label in sorted(unknown.labels))
        if name in left_out:
            print(f"{name}: skipped, because no row has {labels} (--only)")
            continue
        notes_of_set, problems_of_set = room.load_samples(data[name], passed_over=unknown.labels)
        notes += _printed(name, notes_of_set)
        problems += problems_of_set
    return notes, problems, left_out


def _without_rows(
    options: Options, data: Mapping[str, DataSet], models: Iterable[str], room: BenchmarkRoom
) -> tuple[list[str], list[str]]:
    """Find the data sets that have no log because their labels choose none of their rows.

    Returns:
        Problems, if nothing else is left to score, and the names of these data sets.
    """
    empty: dict[str, str] = {}
    for name, data_set in data.items():
        if not is_subset(data_set.mode) or _has_log(options, models, name):
            continue
        try:
            rows, chosen = room.count_rows(data_set)
        except UserError:  # scoring needs no annotations; without a log, that is what is said
            continue
        if not chosen:
            setting = "--only" if options.only else f"data.{name}.only"
            labels = f"{filters_of(data_set.mode)} ({setting})"
            empty[name] = f"{name}: nothing to score, as none of its {rows:,} rows has {labels}"
    if len(empty) == len(data):
        return [*empty.values()], []
    for line in empty.values():
        print(line)
    return [], [*empty]


def _has_log(options: Options, models: Iterable[str], dataset: str) -> bool:
    """Whether one of the models has a run, or an import, on a data set."""
    return any(
        all_logs(options.work_dir, model, dataset, imported=imported)
        for model in models
        for imported in (False, True)
    )


def _is_empty(only: Only, unknown: Collection[Label]) -> bool:
    """Whether the unknown labels leave no row to choose."""
    return any(
        all((grouping, label) in unknown for label in labels) for grouping, labels in only.items()
    )


def _printed(name: str, notes: list[str]) -> list[str]:
    for note in notes:
        print(f"warning: {name}: {note}")
    return notes
