"""The config file of a run: its typed form, and everything that can be wrong with it.

`read_config` never stops at the first problem. Each problem is one line,
`<config path as given>: <key path>: <what is wrong>`, and nothing heavy is imported to find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

from utils.config import schema
from utils.config.changes import apply_changes
from utils.config.checkpoints import enter_checkpoints
from utils.config.endpoint import begins_unset, lacks_scheme, parse_endpoint, with_stand_in
from utils.config.environment import read_text
from utils.config.recipes import DESKTOP_STEPS, STEPS, TOKEN_LIMITS, EntryWithRecipe, fill_in
from utils.config.schema import ModelEntry, RunConfig
from utils.config.secret_filter import is_common
from utils.config.text import KeyPath, KeyProblem, PlainConfig, brief, key_path, read_plain
from utils.contracts import Benchmark
from utils.errors import UserError
from utils.functions.signatures import FunctionRef, Kind
from utils.geometry.images import is_url
from utils.import_utils import check_reference, path_problem
from utils.sections import DataSection, OpenSection
from utils.subsets import only_of
from utils.text import did_you_mean, listed, nearest

JUDGE_LIMITS = ("max_requests", "audit_samples")
NOT_OF_A_JUDGE = (*schema.PER_DATA_SET, "recipe", "preprocess_function", "postprocess_function")
CHECKPOINTS = ("transformers", "vllm")
ENDPOINTS = ("openai", "api")
Arguments = Callable[[str, Mapping[str, Any]], Iterable[KeyProblem]]
Read = tuple[Any, list[KeyProblem]]
Benchmarks = Mapping[str, type[Benchmark]]


@dataclass
class ConfigReading:
    """The result of reading a config; a model or data set with problems is None.

    A checkpoint in which only `generate_cfg` is wrong is kept without `generate_cfg`.
    """

    config: RunConfig | None = None  # None if there are problems
    models: dict[str, ModelEntry | None] = field(default_factory=dict)
    data: dict[str, DataSection | None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    function_refs: list[FunctionRef] = field(default_factory=list)  # where parts are wrong, too
    texts: list[tuple[str, str]] = field(default_factory=list, repr=False)  # for `secrets_in`
    recipes: dict[str, EntryWithRecipe] = field(default_factory=dict, repr=False)  # by model


@dataclass(frozen=True)
class ConfigSource:
    """A config file, and what replaces parts of it before it is read."""

    path: Path
    environ: Mapping[str, str]  # with `.env`; replaces `${NAME}`
    unset: str | None = None  # stands for a variable that is not set; None: that is a problem
    content: str | None = None  # stands for the file's
    changes: Iterable[str] = ()  # of `--set`
    seeds_text: str | None = None  # of `--seeds-from`
    checkpoints: str | None = None  # pattern of `--model-glob`
    selected_models: tuple[str, ...] = ()  # of `--model`
    only: Sequence[str] = ()  # of `--only`
    data: Sequence[str] = ()  # the data sets that `--only` is about; none named: all
    levels: Mapping[str, str] = field(default_factory=dict)
    """Full names of data sets by their levels."""

    def read(self, benchmarks: Benchmarks) -> PlainConfig:
        """Return the plain object of the config.

        Raises:
            OSError, ValueError, UserError: it cannot be read.
        """
        path = self.path
        if path.suffix == ".py" and (twin := path.with_suffix(".json")).is_file():
            raise ValueError(f"config files are JSON, and there is {twin}: use --config {twin}")
        text = read_text(path) if self.content is None else self.content
        return read_plain(text, self.environ, self.unset, partial(self._change, benchmarks))

    def _change(self, benchmarks: Benchmarks, config: Any) -> list[str]:
        problems = apply_changes(config, self.changes, self.levels)
        if self.checkpoints is not None:
            problems += enter_checkpoints(config, self.checkpoints, self.selected_models)
        if self.unset is not None:
            problems += _enter_addresses(config, self.environ)
        return [
            *problems,
            *_announce_seeds(config, self.seeds_text, benchmarks),
            *_choose_rows(config, self.only, self.data),
        ]


def read_config(
    source: ConfigSource, benchmarks: Benchmarks, argument_problems: Arguments = lambda *_: ()
) -> ConfigReading:
    """Read a config file and find everything that is wrong with it.

    Args:
        source: the file, and what replaces parts of it.
        benchmarks: those that a config can name.
        argument_problems: what is wrong with the arguments of a model, by its imp_type.
    """
    path = source.path
    try:
        plain = source.read(benchmarks)
    except FileNotFoundError:
        files = {file.stem: file.name for file in sorted(path.parent.glob("*.json"))}
        best = nearest(path.stem, files)  # what all names end in makes none of them near
        hint = f'; did you mean "{files[best]}"?' if best is not None else ""
        return ConfigReading(problems=[f"{path}: there is no such file{hint}"])
    except UserError as error:
        return ConfigReading(problems=[str(error)])
    except (OSError, ValueError) as error:
        return ConfigReading(problems=[f"{path}: {error}"])
    problems = [f"{path}: {problem}" for problem in plain.problems]
    reading = ConfigReading(texts=plain.texts, problems=problems)
    _Reader(path, plain.unset, benchmarks, source.levels, argument_problems, reading).read(
        plain.value
    )
    return reading


def _object(raw: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key; empty where it is missing, or something else."""
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _address_problems(addresses: Sequence[Any], is_set: Sequence[bool]) -> Iterator[KeyProblem]:
    """Yield what is wrong with several addresses of one model; those that are not set are left."""
    index_of_url: dict[str, int] = {}
    names: list[str] = []
    for index, address in enumerate(addresses):
        path: KeyPath = ("model_path", index)
        if not is_set[index]:
            continue
        if not isinstance(address, str):
            yield path, f"must be an address, not {brief(address)}"
            continue
        try:
            endpoint = parse_endpoint(address)
        except UserError as error:
            yield path, str(error)
            continue
        first = index_of_url.setdefault(endpoint.base_url.rstrip("/"), index)
        if first != index:
            yield path, f"is the same address as item {first + 1}"
        if endpoint.problem is None and endpoint.model not in names:
            names.append(endpoint.model)
    if len(names) > 1:
        what = f"names several models, {listed(names)}; servers of one model serve one name"
        yield ("model_path",), what


@dataclass
class _Reader:
    """Goes through the plain object once; everything it finds ends in the reading."""

    path: Path
    unset: set[str]
    benchmarks: Benchmarks
    levels: Mapping[str, str]
    argument_problems: Arguments
    out: ConfigReading
    for_recipes: dict[str, str] = field(default_factory=dict)  # benchmark by data set
    circular: list[str] = field(default_factory=list)  # data sets in all rotations
    known_names: set[str] = field(default_factory=set)  # names of data sets

    def read(self, content: Any) -> None:
        if not isinstance(content, dict):
            self._problem(
                (),
                'the file must hold an object { "model": ..., "data": ... }, not '
                f"{brief(content)}",
            )
            return
        sections = ("model", "data", "secrets")
        for name in sorted(content.keys() - {*sections}):
            hint = did_you_mean(name, sections) or "; known are model, data and secrets"
            self._problem((name,), f"unknown key{hint}")
        secrets = content.get("secrets", [])
        if _is_list_of_texts(secrets):
            self._check_secrets((), secrets)
        else:
            self._problem(("secrets",), f"must be {schema.SECRETS}")
        data = _object(content, "data")
        self.known_names = {*self.benchmarks, *data}
        self.circular = [name for name in data if _object(data, name).get("circular")]
        self.for_recipes = self._benchmarks(data)
        self._check_file_names(data)
        self.out.models = self._entries(content.get("model"), "model", self._model)
        self.out.data = self._entries(content.get("data"), "data", self._data_set)
        if not self.out.problems:
            models = {name: entry for name, entry in self.out.models.items() if entry is not None}
            data = {name: entry for name, entry in self.out.data.items() if entry is not None}
            self.out.config = RunConfig(self.path, models, data, self.out.recipes)
            self._warn_of_unused_parsers(self.out.config)

    def _check_file_names(self, data: Mapping[str, Any]) -> None:
        """Note data sets whose spreadsheet would have the name of another one's results."""
        for name in data:
            benchmark = self.benchmarks.get(self.for_recipes.get(name, name))
            other = f"{name}_{getattr(benchmark, 'result_suffix', 'result')}"
            if other in data:
                what = f'"{name}" writes its results to a file of this name; choose another name'
                self._problem(("data", other), what)

    def _warn_of_unused_parsers(self, config: RunConfig) -> None:
        """Warn of a data set's parse function that no model uses, because each has its own."""
        for dataset, entry in config.data.items():
            has_own = [dataset in model.parse_function for model in config.model.values()]
            if entry.parse_function and all(has_own):
                setting = key_path("data", dataset, "parse_function")
                key = key_path("model", next(iter(config.model)), "parse_function", dataset)
                self.out.warnings.append(
                    f"{self.path}: {setting}: not used, because each model has its own parse "
                    f"function for this data set. Set {key} instead"
                )

    def _benchmarks(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the benchmark of each data set of the config that has a known one."""
        benchmarks = {}
        for name in data:
            kind = _object(data, name).get("benchmark")
            benchmark = kind if isinstance(kind, str) else name
            if benchmark in self.benchmarks or "." in benchmark:
                benchmarks[name] = benchmark
        return benchmarks

    @cached_property
    def _recorded_steps(self) -> dict[str, str]:
        """The data sets of the config that are recorded steps, each with its form of a recipe."""
        recorded = {}
        for name, kind in self.for_recipes.items():
            benchmark: Any = self.benchmarks.get(kind)
            if benchmark is None:  # what is wrong with it is reported elsewhere
                reference = FunctionRef(str(self.path), f"data.{name}.benchmark", kind, "benchmark")
                benchmark, _ = check_reference(reference)
            form = getattr(benchmark, "recipe_form", "")
            if form in (STEPS, DESKTOP_STEPS):
                recorded[name] = form
        return recorded

    def _entries(self, entries: Any, name: str, read: Callable[[str, Any], Read]) -> dict[str, Any]:
        if not isinstance(entries, dict) or not entries:
            kind = "is missing" if entries is None else f"must be an object, not {brief(entries)}"
            self._problem((name,), "is empty" if entries == {} else kind)
            return {}
        typed: dict[str, Any] = {}
        for key, raw in entries.items():
            if name == "model" and not key.strip():
                what = "a name is missing between the quotes; results go to a folder of that name"
                self._problem((name, key), what)
            problems: list[KeyProblem] = [((), f"must be an object {{ }}, not {brief(raw)}")]
            typed[key] = None
            if isinstance(raw, dict):
                typed[key], problems = read(key, raw)
            for path, what in problems:
                self._problem((name, key, *path), what)
        return typed

    def _check_secrets(self, path_in_file: KeyPath, secrets: Sequence[str]) -> None:
        for number, secret in enumerate(secrets):
            key = (*path_in_file, "secrets", number)
            if key_path(*key) not in self.unset and is_common(secret):
                self._problem(
                    key,
                    "cannot be hidden: expected at least 8 characters, and no plain word or "
                    "number. A reply may hold such a text by chance; hiding it would change scores",
                )

    def _problem(self, path_in_file: KeyPath, what: str) -> None:
        self.out.problems.append(
            ": ".join(filter(None, (str(self.path), key_path(*path_in_file), what)))
        )

    def _warn(self, model: str, key: str, what: str) -> None:
        self.out.warnings.append(f"{self.path}: {key_path('model', model, key)}: {what}")

    # ---- models ----

    def _model(self, name: str, raw: Mapping[str, Any]) -> Read:
        raw, of_list = self._with_servers(("model", name), raw)
        if of_list:
            return None, of_list
        imp_type = self._imp_type(name, raw)
        recipe_problems: list[KeyProblem] = []
        if imp_type is not None and raw.get("recipe") is not None:
            raw, recipe_problems = self._with_recipe(name, raw, imp_type)
        entry, problems = schema.model_entry(imp_type, raw)
        problems += recipe_problems
        path, arguments = raw.get("model_path"), list[KeyProblem]()
        if imp_type is not None and (path or raw.get("imp_type")):
            arguments += self.argument_problems(imp_type, raw)
        if imp_type is not None and isinstance(path, str):
            problem = self._path_problem(("model", name), path, imp_type)
            problems += [(("model_path",), problem)] if problem else []
        problems += self._data_set_problems(raw)
        secrets = raw.get("secrets", [])
        if _is_list_of_texts(secrets):
            self._check_secrets(("model", name), secrets)
        self._references(name, raw, imp_type)
        is_wrong = bool(problems) or self._has_unset_path(("model", name), raw)
        if is_wrong or {path_in_file[0] for path_in_file, _ in arguments} - {"generate_cfg"}:
            entry = None
        elif arguments:  # the files of a checkpoint are looked at all the same
            is_local = imp_type in CHECKPOINTS
            entry = entry.model_copy(update={"generate_cfg": {}}) if is_local else None
        return entry, problems + arguments

    def _with_servers(
        self, entry_path: KeyPath, raw: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], list[KeyProblem]]:
        """An entry whose `model_path` is the first of several addresses, if it is a list of them.

        All of them are under `servers` then, which otherwise names a file or folder with them.
        """
        addresses = raw.get("model_path")
        if isinstance(raw.get("servers"), list):
            what = "names a file or folder; a list of addresses belongs into model_path"
            return raw, [(("servers",), what)]
        if not isinstance(addresses, list):
            return raw, []
        if not addresses:
            return raw, [(("model_path",), "is an empty list; expected addresses of servers")]
        if raw.get("servers") is not None:
            what = "cannot be combined with a list in model_path; leave one of them out"
            return raw, [(("servers",), what)]
        is_set = [
            key_path(*entry_path, "model_path", index) not in self.unset
            for index in range(len(addresses))
        ]
        problems = list(_address_problems(addresses, is_set))
        return {**raw, "model_path": addresses[0], "servers": addresses}, problems

    def _data_set_problems(self, raw: Mapping[str, Any]) -> list[KeyProblem]:
        """Problems of the data sets for which a model has functions of its own."""
        problems: list[KeyProblem] = []
        for key in schema.PER_DATA_SET:
            for dataset in _object(raw, key):
                if dataset not in self.known_names:
                    problems.append(((key, dataset), self._unknown_data_set(dataset)))
                elif key == "follow_up" and (self._acts(dataset) or dataset in self.circular):
                    what = "cannot be used for episodes or in circular evaluation; leave it out"
                    problems.append(((key, dataset), what))
        return problems

    def _with_recipe(
        self, name: str, raw: Mapping[str, Any], imp_type: str
    ) -> tuple[Mapping[str, Any], list[KeyProblem]]:
        if not isinstance(raw["recipe"], str) or not raw["recipe"]:
            return raw, []  # the types of an entry are checked elsewhere
        try:
            entry = schema.without_defaults(raw)
            filled_in = fill_in(entry, imp_type, self.for_recipes, self._recorded_steps)
        except UserError as error:
            return raw, [(("recipe",), str(error))]
        self.out.recipes[name] = filled_in
        others = filled_in.recipe.other_data_sets(self.for_recipes, self._recorded_steps)
        if others and any(path[0] == "generate_cfg" for path in filled_in.from_recipe):
            fitting = [dataset for dataset in self.for_recipes if dataset not in others]
            self._warn(
                name,
                "recipe",
                f"its generate_cfg{_limit_text(filled_in.entry)} and kwargs are made for "
                f"{listed(fitting) or 'grounding'}. They are also used for {listed(others)}. If "
                "replies are cut off there, add a second model entry",
            )
        return filled_in.entry, []

    def _imp_type(self, name: str, raw: Mapping[str, Any]) -> str | None:
        kind = raw.get("imp_type")
        path = raw.get("model_path")
        if is_url(path) and kind not in (None, "openai", "api"):
            self._warn(
                name,
                "imp_type",
                f"{brief(kind)} is not used: model_path is a URL, so the model is an API model",
            )
        # A path that is missing or not known may be meant as a URL; that is reported.
        is_open = key_path("model", name, "model_path") in self.unset
        is_open |= path is None or lacks_scheme(path)
        if is_url(path) or kind == "api" or (kind is None and is_open):
            return "openai"
        return kind if isinstance(kind, str) and kind in schema.KINDS else None

    def _has_unset_path(self, entry_path: KeyPath, raw: Mapping[str, Any]) -> bool:
        """Whether a variable in the path of a model, or of one of its servers, is not set."""
        keys: list[KeyPath] = [("model_path",), ("servers",)]
        servers = raw.get("servers")
        if isinstance(servers, list):
            keys += [("model_path", index) for index in range(len(servers))]
        return any(key_path(*entry_path, *key) in self.unset for key in keys)

    def _path_problem(self, entry_path: KeyPath, path: str, imp_type: str) -> str | None:
        if key_path(*entry_path, "model_path") in self.unset:
            return None
        if not path.strip():
            return "is empty"
        if imp_type == "custom" and (wrong := path_problem(path)):
            return f"must be the dotted path of a class: {wrong}"
        if imp_type != "openai":
            return None
        try:
            endpoint = parse_endpoint(path)
        except UserError as error:
            return str(error)
        for warning in endpoint.warnings:
            warned_key = key_path(*entry_path, "model_path")
            self.out.warnings.append(f"{self.path}: {warned_key}: {warning}")
        return endpoint.problem

    def _references(self, name: str, raw: Mapping[str, Any], imp_type: str | None) -> None:
        """Note which functions an entry names and what they will be called with."""
        kwargs = _object(raw, "kwargs")
        generate_cfg = _object(raw, "generate_cfg")
        passed = ["dataset_name", *(key for key in kwargs if key not in schema.RESERVED_KWARGS)]
        after = [*passed, "input_length"] if imp_type == "transformers" else passed
        if imp_type == "custom" and not path_problem(str(raw.get("model_path"))):
            self._ref(
                ("model", name, "model_path"),
                raw["model_path"],
                "custom-class",
                generate_cfg,
                kwargs,
            )
        kinds: Iterable[tuple[Kind, list[str]]] = (("preprocess", passed), ("postprocess", after))
        for kind, keywords in kinds:
            key = f"{kind}_function"
            self._ref(("model", name, key), raw.get(key), kind, keywords)
        by_data_set: Iterable[tuple[str, Kind]] = zip(
            schema.PER_DATA_SET, ("prompt", "parse", "follow_up"), strict=True
        )
        for key, kind in by_data_set:
            for dataset, dotted in _object(raw, key).items():
                self._ref(("model", name, key, dataset), dotted, kind)

    def _ref(
        self,
        path_in_file: KeyPath,
        dotted: Any,
        kind: Kind,
        keywords: Iterable[str] = (),
        init_keywords: Iterable[str] = (),
    ) -> None:
        key = key_path(*path_in_file)
        if isinstance(dotted, str) and dotted and key not in self.unset:
            self.out.function_refs.append(
                FunctionRef(str(self.path), key, dotted, kind, (*keywords,), (*init_keywords,))
            )

    # ---- data sets ----

    def _data_set(self, name: str, raw: Mapping[str, Any]) -> Read:
        entry = schema.without_defaults(raw)
        benchmark = entry.get("benchmark")
        kind = benchmark if isinstance(benchmark, str) else name
        problems = self._kind_problems(name, kind)
        misspelt = nearest("benchmark", raw) if benchmark is None and problems else None
        if misspelt is not None:
            return None, [((misspelt,), 'unknown key; did you mean "benchmark"?')]
        benchmark_class = None if problems else self.benchmarks.get(kind)
        # A class of the user's is not imported yet.
        usual = DataSection if benchmark is None else OpenSection
        kind_of_section = benchmark_class.config_section if benchmark_class else usual
        own_keys = {
            *kind_of_section.model_fields,
            *((benchmark_class.options if benchmark_class else None) or ()),
        }
        for key in entry.keys() - own_keys if benchmark_class else ():
            if owners := self._owners_of(key):
                del entry[key]
                problems.append(((key,), f"only for {', '.join(owners)}; leave it out"))
        problems += self._with_rows(entry, benchmark_class)
        entry, wrong = kind_of_section.completed(entry)
        problems += wrong
        judge = entry.pop("judge", None) if "judge" in kind_of_section.model_fields else None
        typed, wrong = schema.section(kind_of_section, entry)
        if "judge" in kind_of_section.model_fields:
            typed, of_judge = self._with_judge(name, typed, judge, entry.get("match_mode"))
            wrong += of_judge
        problems += wrong
        if benchmark_class is not None and issubclass(kind_of_section, OpenSection):
            problems += _choice_problems(entry, benchmark_class)
        if benchmark_class is not None:
            problems += _mode_problems(kind, entry.get("mode"), benchmark_class.modes)
        self._ref(("data", name, "parse_function"), entry.get("parse_function"), "parse")
        audits = entry.get("audits")
        for number, audit in enumerate(audits if isinstance(audits, list) else ()):
            self._ref(("data", name, "audits", number), audit, "audit")
        for key, kind_of_function in kind_of_section.functions.items():
            dotted = entry.get(key)
            if isinstance(dotted, str) and "." in dotted:
                self._ref(("data", name, key), dotted, cast(Kind, kind_of_function))
        self._ref(
            ("data", name, "environment"),
            entry.get("environment"),
            "environment",
            init_keywords=_object(entry, "environment_args"),
        )
        return None if problems else typed, problems

    def _with_rows(
        self, entry: dict[str, Any], benchmark_class: type[Benchmark] | None
    ) -> list[KeyProblem]:
        """Have one label of `only` stand for a list; return what is wrong."""
        only = entry.get("only")
        if only and benchmark_class is not None and hasattr(benchmark_class, "open_world"):
            del entry["only"]
            return [(("only",), "cannot be used for live tasks; leave it out")]
        if isinstance(only, dict):
            entry["only"] = {
                grouping: [labels] if isinstance(labels, str) else labels
                for grouping, labels in only.items()
            }
        return []

    def _kind_problems(self, name: str, kind: str) -> list[KeyProblem]:
        """Problems of the benchmark that a data set names."""
        if kind == name:
            return [] if name in self.benchmarks else [((), self._unknown_data_set(name))]
        if name in self.benchmarks:
            return [((), f'"{name}" is a built-in data set; give this one another name')]
        if problem := schema.name_problem(name):
            return [((), problem)]
        if "." in kind:
            self._ref(("data", name, "benchmark"), kind, "benchmark")
            return []
        if kind in self.benchmarks and issubclass(
            self.benchmarks[kind].config_section, OpenSection
        ):
            return []
        open_names = [
            other
            for other, benchmark in self.benchmarks.items()
            if issubclass(benchmark.config_section, OpenSection)
        ]
        what = f"{brief(kind)} is neither a dotted path nor one of {listed(open_names, 20)}"
        return [(("benchmark",), what + did_you_mean(kind, open_names))]

    def _owners_of(self, key: str) -> list[str]:
        """Return the data sets of the program that have a key which not all have."""
        return [
            name
            for name, benchmark in self.benchmarks.items()
            if key in benchmark.config_section.model_fields
            and not issubclass(benchmark.config_section, OpenSection)
        ]

    def _acts(self, dataset: str) -> bool:
        """Whether the samples of a data set are episodes."""
        benchmark = self.benchmarks.get(self.for_recipes.get(dataset, dataset))
        return benchmark is not None and hasattr(benchmark, "open_world")

    def _with_judge(
        self, name: str, typed: DataSection | None, judge: Any, match_mode: Any
    ) -> tuple[DataSection | None, list[KeyProblem]]:
        """Return an entry with the model that reads replies, if it is to have one."""
        has_judge = match_mode == "judge"
        if judge is not None and not has_judge:
            return typed, [(("judge",), 'only with match_mode "judge"; leave one of them out')]
        if has_judge and not isinstance(judge, dict):
            what = 'must be an object with the judge\'s model: { "model_path": ... }'
            return typed, [(("judge",), what)]
        if judge is None:
            return typed, []
        typed_judge, wrong = self._judge(name, judge)
        if typed is not None and typed_judge is not None:
            typed = typed.model_copy(update={"judge": typed_judge})
        return typed, [(("judge", *path), what) for path, what in wrong]

    def _judge(self, name: str, raw: Mapping[str, Any]) -> Read:
        """Return the entry of the model that reads replies, with its limits."""
        path_in_file = ("data", name, "judge")
        settings = {key: value for key, value in raw.items() if key not in JUDGE_LIMITS}
        listing, of_list = self._with_servers(path_in_file, settings)
        if of_list:
            return None, of_list
        settings = dict(listing)
        kind, path = settings.get("imp_type"), settings.get("model_path")
        is_api = is_url(path) or kind in (None, "api")
        imp_type = "openai" if is_api else kind if kind in schema.KINDS else None
        problems: list[KeyProblem] = [
            ((key,), "not for a judge; leave it out")
            for key in NOT_OF_A_JUDGE
            if settings.pop(key, None)
        ]
        model, wrong = schema.model_entry(imp_type, settings)
        problems += wrong
        if imp_type is not None:
            problems += self.argument_problems(imp_type, settings)
        if imp_type is not None and isinstance(path, str):
            problem = self._path_problem(path_in_file, path, imp_type)
            problems += [(("model_path",), problem)] if problem else []
        secrets = settings.get("secrets", [])
        if _is_list_of_texts(secrets):
            self._check_secrets(path_in_file, secrets)
        if imp_type == "custom" and not path_problem(str(path)):
            blocks = (settings.get("generate_cfg") or {}, settings.get("kwargs") or {})
            self._ref((*path_in_file, "model_path"), path, "custom-class", *blocks)
        if problems or model is None or self._has_unset_path(path_in_file, settings):
            return None, problems
        return schema.section(
            schema.JudgeEntry,
            {"model": model, **{key: raw[key] for key in JUDGE_LIMITS if key in raw}},
        )

    def _unknown_data_set(self, name: str) -> str:
        names = list(self.benchmarks)
        if full := self.levels.get(name.upper()):
            return f'unknown data set; {name} is "{full}"'
        known_names = f"; known are {listed(names)} (--data also takes {', '.join(self.levels)})"
        return "unknown data set" + (did_you_mean(name, names) or known_names)


def own_problems(entry: OpenSection, benchmark: type[Benchmark] | Benchmark) -> list[KeyProblem]:
    """Problems of the entry of a user's class, known only once it is imported."""
    requested = {key: value for key, value in entry if key in entry.model_fields_set}
    only_grounding = "only for benchmarks of grounding; leave it out"
    takes_declined = benchmark.recipe_form == "grounding" or not entry.declined
    return [
        *([] if takes_declined else [(("declined",), only_grounding)]),
        *_choice_problems(requested, benchmark),
        *_mode_problems(str(entry.benchmark), entry.mode, benchmark.modes),
    ]


def _limit_text(entry: Mapping[str, Any]) -> str:
    """The limit of tokens in a `generate_cfg`, as ` (max_tokens 32)`; "" where it has none."""
    settings = _object(entry, "generate_cfg")
    limits = [f"{name} {settings[name]}" for name in TOKEN_LIMITS if name in settings]
    return f" ({', '.join(limits)})" if limits else ""


def _mode_problems(kind: str, mode: Any, modes: Sequence[str]) -> Iterator[KeyProblem]:
    if isinstance(mode, str) and mode not in modes:
        hint = did_you_mean(mode, modes) or ";"
        yield ("mode",), f'unknown mode "{mode}"{hint} {kind} has the modes {listed(modes)}'


def _enter_addresses(config: Any, environ: Mapping[str, str]) -> list[str]:
    """Have an address stand for each variable at the beginning of an endpoint that is not set.

    The stored readings of a judge are found by its address, so that of a judge must be set.
    """
    sections = config if isinstance(config, dict) else {}
    models = _object(sections, "model")
    for name in models:
        entry = _object(models, name)
        if "model_path" in entry and entry.get("imp_type") in (None, *ENDPOINTS):
            entry["model_path"] = _address_to_score(entry["model_path"], environ)
    problems: list[str] = []
    data = _object(sections, "data")
    for name in data:
        judge = _object(_object(data, name), "judge")
        variable = begins_unset(judge.get("model_path"), environ)
        if variable is not None and judge.get("imp_type") in (None, *ENDPOINTS):
            judge["model_path"] = with_stand_in(judge["model_path"])
            problems.append(
                f"{key_path('data', name, 'judge', 'model_path')}: ${{{variable}}} stands for an "
                "environment variable that is not set. Set it in the environment or in .env: the "
                "stored readings of a judge are found by its address"
            )
    return problems


def _address_to_score(model_path: Any, environ: Mapping[str, str]) -> Any:
    """The `model_path` of a model whose stored answers are scored: nothing is sent there."""
    if isinstance(model_path, list) and model_path:
        known = [address for address in model_path if begins_unset(address, environ) is None]
        return known or [with_stand_in(model_path[0])]
    return with_stand_in(model_path) if begins_unset(model_path, environ) else model_path


def _announce_seeds(config: Any, text: str | None, benchmarks: Benchmarks) -> list[str]:
    """Have all data sets with seeds take them from a text (`--seeds-from`)."""
    if text is None:
        return []
    if not text:
        return ["--seeds-from: the text is empty"]
    data = _object(config, "data") if isinstance(config, dict) else {}
    entries = [
        entry
        for name, entry in data.items()
        if isinstance(entry, dict)
        and name in benchmarks
        and "seeds_from" in benchmarks[name].config_section.model_fields
    ]
    for entry in entries:
        entry.pop("seeds", None)
        entry["seeds_from"] = text
    return [] if entries else ["--seeds-from: the config has no data set with seeds"]


def _choose_rows(config: Any, typed: Sequence[str], names: Sequence[str]) -> list[str]:
    """Have the data sets of a run take the rows with some labels alone (`--only`)."""
    if not typed:
        return []
    try:
        only = only_of(typed)
    except UserError as error:
        return [*error.problems]
    data = _object(config, "data") if isinstance(config, dict) else {}
    for name, entry in data.items():
        if isinstance(entry, dict) and (not names or name in names):
            entry["only"] = only
    return []


def _choice_problems(
    entry: Mapping[str, Any], benchmark: type[Benchmark] | Benchmark
) -> Iterator[KeyProblem]:
    """Yield what is wrong with the keys that are a benchmark's own."""
    choices = benchmark.options or {}
    fields = [*benchmark.config_section.model_fields, *choices]
    for key, value in entry.items():
        if key not in fields:
            hint = did_you_mean(key, fields) or f"; known are {listed(fields)}"
            yield (key,), f"unknown key{hint}"
        elif key in choices and value not in choices[key]:
            hint = did_you_mean(str(value), choices[key])
            yield (key,), f"must be one of {listed(choices[key])}, not {brief(value)}{hint}"
