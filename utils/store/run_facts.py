"""Summarises a run in a few words from its manifest: the head of the report's first screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from utils.geometry.images import is_url
from utils.protocol import (
    ACTING,
    IMPORTED,
    MADE_ELSEWHERE,
    OTHER_INSTRUCTIONS,
    PUBLISHED_MD5,
    PUBLISHED_ROWS,
    SAMPLE_MD5,
    SAMPLE_TABLES_MD5,
    is_weighted,
)
from utils.store.logged_config import asked_with, entry_of_run, parser_of_run, scored_with
from utils.subsets import is_subset, shown_mode
from utils.text import BY_RECIPE, as_json_text, counted, cut, format_number, local_time

REPORT_FOLDER = "report"
QUIET_KWARGS = {"img_size": -1, "system_prompt": "benchmark_default", "wire_format": "documented"}
"""Settings that are not worth a word where they have these values."""
LONGEST_PARAMETER = 48
RECIPES = "models.recipes."  # how functions of the program's recipes begin
SAMPLE_TEXT = "sample data of the program: drawn screens, not a benchmark result"
IMAGES_BY_RECIPE = "images_by_recipe"  # of a data set: settings that its recipe has set
REPEATED = "retried"
"""The check of samples that took more than one request."""
PUBLISHED, SAMPLE, LIVE, OTHER = "published", "sample", "live", "other"
TASKS_SUFFIX = "_tasks"  # of what the manifest calls the tasks of live worlds


def run_facts(
    manifest: Mapping[str, Any], levels: Mapping[str, str], totals: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the facts about a run, without those that are not known.

    Each has a name, a text, the whole text where that is cut, and a link: a filter of the list of
    samples, or None.

    Args:
        manifest: of the run's folder; may be empty.
        levels: of the data sets that are shown, by name.
        totals: "samples" (each answer is one), "questions", "images", "episodes" among the samples,
            "tasks", "requests", and how many samples were `REPEATED`.
    """
    asking = manifest.get("asking") or {}
    all_entries: Mapping[str, Any] = manifest.get("datasets") or {}
    entries = {name: all_entries[name] for name in levels if name in all_entries}
    entry = model_entry(manifest)
    by_recipe = images_by_recipe(manifest)
    parameters = _parameters(manifest, entry, levels, by_recipe)
    if is_weighted((manifest.get("scoring") or {}).get("environment") or {}):
        parameters.append("questions weighted by options")
    is_acting = 0 < totals["samples"] == totals.get("episodes")
    samples = "Episodes" if is_acting else "Samples"
    imported = manifest.get(IMPORTED)
    name, address = _model(entry, entries) if not imported else _origin(imported)
    recipe = f"recipe {entry['recipe']}" if entry.get("recipe") else ""
    texts = {name: " · ".join(filter(None, (address, recipe)))}
    texts["Parameters"] = " · ".join(cut(text, LONGEST_PARAMETER) for text in parameters)
    texts["Data"] = _data(entries, own_benchmarks(manifest))
    texts["Date"] = local_time(asking.get("started_at") or "")
    texts[samples] = _samples(entries, levels, totals)
    if not imported:  # which no request was made for
        texts["Tokens"] = _tokens(entries)
        texts["Duration"] = _duration(asking, entries)
        texts["Requests"] = _requests(entries, totals)
    links: dict[str, dict[str, Any]] = {samples: {}}
    if totals[REPEATED] and not imported:
        links["Requests"] = {"check": REPEATED}
    whole_texts = {"Parameters": " · ".join(parameters)}
    return [
        {
            "name": name,
            "text": text,
            "whole": whole_texts.get(name, text),
            "link": links.get(name),
        }
        for name, text in texts.items()
        if text
    ]


def model_entry(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the model's entry in the config; empty where there is none."""
    models: Mapping[str, Any] = (manifest.get("config") or {}).get("model") or {}
    entry: Mapping[str, Any] | None = models.get(str(manifest.get("model")))  # of several
    return entry or next(iter(models.values()), {})


def data_kind(entry: Mapping[str, Any]) -> str:
    """The kind of a data set of a manifest: published, sample data, live tasks or another."""
    annotations = entry.get("annotations") or {}
    md5 = annotations.get("md5")
    file = annotations.get("file", "")
    if not md5:
        return OTHER
    if PUBLISHED_MD5.get(file) == md5:
        return PUBLISHED
    folder = file.partition(", ")[0]  # most settings read the same files
    if md5 in (SAMPLE_MD5.get(file), SAMPLE_TABLES_MD5.get(file), SAMPLE_TABLES_MD5.get(folder)):
        return SAMPLE
    return LIVE if file.endswith(TASKS_SUFFIX) else OTHER


def rows_note(entry: Mapping[str, Any]) -> str:
    """Say that a table has other rows than the published files: `12 of 1,272 rows`; else "".

    A limit or one mode takes a part of them on purpose.
    """
    published = PUBLISHED_ROWS.get(str((entry.get("annotations") or {}).get("file")))
    if published is None or entry.get("limit") or entry.get("mode") != "all":
        return ""
    rows = (entry.get("samples") or 0) + (entry.get("left_out") or 0)
    return "" if rows == published else f"{rows:,} of {published:,} rows"


def is_whole(entry: Mapping[str, Any], *, is_partial: bool) -> bool:
    """Whether scores cover the whole published data set, so published scores are comparable."""
    is_all = not is_partial and not entry.get("left_out") and entry.get("mode") == "all"
    file = (entry.get("annotations") or {}).get("file")
    if file in PUBLISHED_ROWS:  # checksums of these files are not known
        return is_all and entry.get("samples") == PUBLISHED_ROWS[file]
    return is_all and data_kind(entry) == PUBLISHED


def compares_with_published(entry: Mapping[str, Any], *, is_partial: bool) -> bool:
    """Whether published results are comparable: for the same rows, by the same protocol."""
    file = (entry.get("annotations") or {}).get("file")
    is_same_table = file not in OTHER_INSTRUCTIONS and is_whole(entry, is_partial=is_partial)
    return is_same_table and "protocol" not in entry  # a second look is another experiment


def why_stopped(manifest: Mapping[str, Any], scored: Collection[str]) -> dict[str, str]:
    """The reasons why data sets of a run were stopped, by name; `scored`: those with scores."""
    entries = manifest.get("datasets") or {}
    texts: dict[str, str] = {}
    for name, stop in (manifest.get("stopped") or {}).items():
        texts[name] = f"stopped: {stop.get('why')}"
        if name in scored and not (entries.get(name) or {}).get("missing"):
            texts[name] += "; the figures are from an earlier scoring"
    return texts


def _model(entry: Mapping[str, Any], entries: Mapping[str, Any]) -> tuple[str, str]:
    path = str(entry.get("model_path") or "")
    kind = entry.get("imp_type")
    if is_url(path):
        url = urlsplit(path)
        name = parse_qs(url.query).get("model", [""])[0]
        address = url.netloc.rpartition("@")[2] + url.path.rstrip("/")
        if entry.get("servers"):
            address = _servers(entries)
        return "Endpoint", " · ".join(filter(None, (name, address)))
    if kind == "custom":
        return "Model", path
    name = "/".join(PurePosixPath(path.replace("\\", "/")).parts[-2:]).removeprefix("…/")
    if not name:
        return "Checkpoint", ""
    devices = {how for dataset in entries.values() for how in dataset.get("runs_with") or ()}
    parts = [name]
    if kind == "vllm":
        parts.append("vLLM")
    return "Checkpoint", " · ".join(parts + sorted(devices))


def _origin(imported: Mapping[str, Any]) -> tuple[str, str]:
    """The label and text on the origin of answers made elsewhere."""
    return "Origin", f"{MADE_ELSEWHERE} · {imported.get('file')} · {imported.get('format')}"


def _servers(entries: Mapping[str, Any]) -> str:
    """The number and the names of the servers that answered, the busiest first."""
    answers: Counter[str] = Counter()
    for entry in entries.values():
        answers.update(entry.get("answered_by") or {})
    names = [f"{server} ({count:,})" for server, count in answers.most_common()]
    return f"{counted(len(names), 'server')}: {', '.join(names)}" if names else "several servers"


def _parameters(
    manifest: Mapping[str, Any],
    entry: Mapping[str, Any],
    levels: Mapping[str, str],
    by_recipe: Collection[str],
) -> list[str]:
    """Return the settings of a model that differ from the defaults, and its functions by level."""
    if not entry:
        return []
    settings = dict(entry.get("generate_cfg") or {})
    for name, value in (entry.get("kwargs") or {}).items():
        if value not in (None, QUIET_KWARGS.get(name)):
            settings[name] = value
    parameters = []
    for name, value in settings.items():
        by = f" ({BY_RECIPE})" if f"kwargs.{name}" in by_recipe else ""
        text = f": {_resize_text(value)}" if name == "resize" else f" {as_json_text(value)}"
        parameters.append(f"{name}{text}{by}")
    for name, level in levels.items():
        functions: list[str] = []
        entry_of_set = asking_entry(manifest, name)
        prompt = (entry_of_set.get("custom_prompt") or {}).get(name)
        if prompt:
            recipe = entry_of_set.get("recipe")
            is_of_recipe = recipe and str(prompt).startswith((RECIPES, f"{recipe}."))
            functions.append("the recipe's prompt" if is_of_recipe else "own prompt")
        if dotted := parse_function(manifest, name):
            functions.append(dotted.rpartition(".")[2])
        if functions:
            parameters.append(f"{level}: {', '.join(functions)}")
    return parameters or ["the defaults"]


def images_by_recipe(manifest: Mapping[str, Any]) -> set[str]:
    """The key paths of the settings of images that a run's recipe has set."""
    entries = (manifest.get("datasets") or {}).values()
    return {path for entry in entries for path in entry.get(IMAGES_BY_RECIPE) or ()}


def _resize_text(value: Any) -> str:
    """The effect of `kwargs.resize` on an image, in words."""
    steps = value if isinstance(value, list) else [value]
    words = {
        "factor": "sides in multiples of {}",
        "area": "at most {:,} pixels",
        "longest": "longest side at most {}",
        "tiles": "at most {} tiles",
        "size": "to {}x{}",
        "canvas": "in the corner of {}x{}",
        "min_pixels": "at least {:,} pixels",
        "max_pixels": "at most {:,} pixels",
        "filter": "{}",
    }
    texts = [
        words[name].format(*(number if isinstance(number, list) else [number]))
        if name in words
        else f"{name} {as_json_text(number)}"
        for step in steps
        for name, number in step.items()
    ]
    return ", ".join(texts)


def scoring_config(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the config that the scores were made with, without secrets."""
    return (manifest.get("scoring") or {}).get("config") or manifest.get("config") or {}


def parse_function(manifest: Mapping[str, Any], dataset: str) -> str | None:
    """Return the user's parse function that a data set was scored with; None: the default."""
    return parser_of_run({"config": scored_with(manifest, dataset)}, _model_of(manifest), dataset)


def asking_entry(manifest: Mapping[str, Any], dataset: str) -> Mapping[str, Any]:
    """Return the model's entry in the config that a data set was asked with; empty: not known."""
    return entry_of_run({"config": asked_with(manifest, dataset)}, _model_of(manifest))


def scoring_entry(manifest: Mapping[str, Any], dataset: str) -> Mapping[str, Any]:
    """Return the model's entry in the config that a data set was scored with, likewise."""
    return entry_of_run({"config": scored_with(manifest, dataset)}, _model_of(manifest))


def _model_of(manifest: Mapping[str, Any]) -> str:
    return str(manifest.get("model"))


def own_benchmarks(manifest: Mapping[str, Any]) -> set[str]:
    """The data sets of a run whose benchmark is a class of the user's."""
    sections: dict[str, Any] = dict((manifest.get("config") or {}).get("data") or {})
    for name in manifest.get("datasets") or {}:
        sections |= asked_with(manifest, name).get("data") or {}
    return {name for name, entry in sections.items() if "." in str(entry.get("benchmark") or "")}


def _data(entries: Mapping[str, Any], own_benchmarks: Collection[str]) -> str:
    kinds: set[str] = set()
    tables: list[str] = []
    for name, entry in entries.items():
        if name in own_benchmarks:
            tables.append(f"{name}: a benchmark of your own")
            continue
        file = (entry.get("annotations") or {}).get("file")
        if file in PUBLISHED_ROWS:  # by their number, as their checksums are not known
            if data_kind(entry) == SAMPLE:
                kinds.add(SAMPLE)
            rows = f"{entry.get('samples') or 0:,} of {PUBLISHED_ROWS[file]:,} rows"
            tables.append(f"{file}: {rows}")
        else:
            kinds.add(data_kind(entry))
    limit = max((entry.get("limit") or 0 for entry in entries.values()), default=0)
    limited = f", {limit} samples of each level" if limit else ""
    modes = [str(entry.get("mode")) for entry in entries.values()]
    subsets = list(dict.fromkeys(shown_mode(mode) for mode in modes if is_subset(mode)))
    tables += [f"{subset} only" for subset in subsets]
    texts = {
        SAMPLE: SAMPLE_TEXT,
        PUBLISHED: f"MMBench-GUI as published{limited}",
        OTHER: "not the published files",
    }
    parts = [texts[kind] for kind in kinds - {LIVE}]
    if len(parts) > 1:
        parts = ["in part not the published files"]
    if LIVE in kinds:
        parts.append("tasks in live worlds")
    return "; ".join(parts + tables)


def _samples(
    entries: Mapping[str, Any], levels: Mapping[str, str], totals: Mapping[str, int]
) -> str:
    """The number of samples of a run, and of answers to each where that is not one."""
    episodes = totals.get("episodes", 0)
    answers = totals["samples"] - episodes
    questions = totals.get("questions", answers)
    repeats = _repeats(entries, levels)
    parts: list[str] = []
    if questions or not episodes:
        text = f"{questions:,} on {totals['images']:,} images"
        if answers > questions:
            text = f"{answers:,} answers to {questions:,} samples on {totals['images']:,} images"
        parts.append(text)
    if episodes and questions:
        parts.append(f"{counted(episodes, 'episode')} of {counted(totals['tasks'], 'task')}")
    elif episodes:
        parts.append(f"{episodes:,} in {counted(totals['tasks'], 'task')}")
    return ", ".join(parts) + (f" ({repeats})" if repeats else "")


def _repeats(entries: Mapping[str, Any], levels: Mapping[str, str]) -> str:
    """Say how often questions were asked, and tasks with a seed played; "": all once."""
    counts = {levels[name]: entry.get("repeats", 1) for name, entry in entries.items()}
    if set(counts.values()) == {1} or not counts:
        return ""
    if len(set(counts.values())) == 1:
        return f"{next(iter(counts.values()))} times each"
    return ", ".join(f"{level}: {count} times each" for level, count in counts.items() if count > 1)


def _tokens(entries: Mapping[str, Any]) -> str:
    counts = [entry.get("tokens") or {} for entry in entries.values()]
    prompt = sum(tokens.get("prompt_tokens") or 0 for tokens in counts)
    completion = sum(tokens.get("completion_tokens") or 0 for tokens in counts)
    if not prompt and not completion:
        return "none reported"
    return f"{prompt:,} in, {completion:,} out"


def _duration(asking: Mapping[str, Any], entries: Mapping[str, Any]) -> str:
    """The duration of the newest run, which may have reused answers of earlier ones."""
    wall_s = asking.get("wall_s")
    if wall_s is None:
        return ""
    minutes, seconds = divmod(round(wall_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        text = f"{hours} h {minutes:02} min"
    elif minutes:
        text = f"{minutes} min {seconds:02} s"
    else:
        text = f"{format_number(wall_s, 1)} s"
    first_answers = [entry["answered"][0] for entry in entries.values() if entry.get("answered")]
    if first_answers and min(first_answers) < (asking.get("started_at") or ""):
        text += " in the last command; earlier commands got the other replies"
    return text


def _requests(entries: Mapping[str, Any], totals: Mapping[str, int]) -> str:
    """Return the count of requests, and of samples that took more than one.

    What went to another server because one was lost is named apart: it costs no retry.
    """
    counts = [entry["requests"] for entry in entries.values() if "requests" in entry]
    text = f"{sum(counts) if counts else totals['requests']:,}"
    moved = max((_moved(entry) for entry in entries.values()), default=0)
    if totals[REPEATED]:
        verb = "sent more than once" if moved else REPEATED
        text += f", {counted(totals[REPEATED], 'sample')} {verb}"
    return f"{text} ({counted(moved, 'request')} went to another server)" if moved else text


def _moved(entry: Mapping[str, Any]) -> int:
    """The number of requests that went to another server in a data set's whole run."""
    return sum(server.get("moved") or 0 for server in entry.get("servers") or ())


def failed_requests(entry: Mapping[str, Any]) -> tuple[int, int]:
    """The number of answers of a data set of a manifest that failed or were refused, and of all.

    Older versions count episodes among them; of levels with episodes nothing is known then.
    """
    if "requests" not in entry and entry.get("level") in ACTING:
        return 0, 0
    statuses = entry.get("statuses") or {}
    total = sum(statuses.values())
    return total - statuses.get("ok", 0), total
