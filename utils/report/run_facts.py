"""What was run, in a few words: the head of the report's first screen, from the manifest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, urlsplit

from utils.images import is_url
from utils.protocol import PUBLISHED_MD5, SAMPLE_MD5, is_weighted
from utils.text import counted, cut, format_number

REPORT_FOLDER = "report"
QUIET_KWARGS = {"img_size": -1, "system_prompt": "benchmark_default", "wire_format": "documented"}
"""Settings that are not worth a word where they have these values."""
LONGEST_VALUE = 28
REPEATED = "retried"
"""The check of samples that took more than one request."""
PUBLISHED, SAMPLE, LIVE, OTHER = "published", "sample", "live", "other"


def run_facts(
    manifest: Mapping[str, Any], levels: Mapping[str, str], totals: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Name, text and link of each, as they are shown; what is not known is left out.

    Args:
        levels: of the data sets that are shown, by name.
        totals: "samples", "images", "episodes" among them, "tasks", "requests", and how many
            samples were `REPEATED`.
    """
    asking = manifest.get("asking") or {}
    entries: Mapping[str, Any] = manifest.get("datasets") or {}
    entries = {name: entries[name] for name in levels if name in entries}
    entry = model_entry(manifest)
    variables = (manifest.get("scoring") or {}).get("environment") or {}
    weighted = ["L1 weighted by options"] * is_weighted(variables)
    is_acting = 0 < totals["samples"] == totals.get("episodes")
    facts = [
        _model(entry, entries),
        (
            "Parameters",
            " · ".join(_parameters(entry, parse_functions(manifest), levels) + weighted),
        ),
        ("Data", _data(entries)),
        ("Date", _date(asking.get("started_at"))),
        (samples := "Episodes" if is_acting else "Samples", _samples(totals)),
        ("Tokens", _tokens(entries)),
        ("Duration", _duration(asking, entries)),
        ("Requests", _requests(entries, totals)),
    ]
    links: dict[str, Any] = {samples: {}}
    links |= {"Requests": {"check": REPEATED}} if totals[REPEATED] else {}
    return [{"name": n, "text": text, "link": links.get(n)} for n, text in facts if text]


def model_entry(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The model's entry in the config; empty where there is none."""
    models: Mapping[str, Any] = (manifest.get("config") or {}).get("model") or {}
    named: Mapping[str, Any] | None = models.get(str(manifest.get("model")))  # of several
    return named or next(iter(models.values()), {})


def data_kind(entry: Mapping[str, Any]) -> str:
    """Whether a data set of a manifest is the published one, the sample data, tasks or another."""
    annotations = entry.get("annotations") or {}
    md5, file = annotations.get("md5"), annotations.get("file", "")
    tasks: dict[str, Any] = {"L3_tasks": md5, "L4_tasks": md5}  # of no file, any of them
    known = {PUBLISHED: PUBLISHED_MD5, SAMPLE: SAMPLE_MD5, LIVE: tasks}
    return next((kind for kind, sums in known.items() if md5 and sums.get(file) == md5), OTHER)


def is_whole(entry: Mapping[str, Any], *, is_partial: bool) -> bool:
    """Whether scores are of the whole published data set, so that published ones compare."""
    is_all = not is_partial and not entry.get("left_out") and entry.get("mode") == "all"
    return is_all and data_kind(entry) == PUBLISHED


def stops(manifest: Mapping[str, Any], scored: Collection[str]) -> dict[str, str]:
    """Return a sentence for each data set of a run that was stopped, by name.

    Args:
        scored: the data sets that have scores.
    """
    entries = manifest.get("datasets") or {}
    sentences = {}
    for name, stop in (manifest.get("stopped") or {}).items():
        sentences[name] = f"stopped: {stop.get('why')}"
        if name in scored and not (entries.get(name) or {}).get("missing"):
            sentences[name] += "; what is shown is from an earlier scoring"
    return sentences


def _model(entry: Mapping[str, Any], entries: Mapping[str, Any]) -> tuple[str, str]:
    path, kind = str(entry.get("model_path") or ""), entry.get("imp_type")
    if is_url(path):
        url = urlsplit(path)
        name = parse_qs(url.query).get("model", [""])[0]
        place = url.netloc.rpartition("@")[2] + url.path.rstrip("/")
        return "Endpoint", " · ".join(filter(None, (name, place)))
    if kind == "custom":
        return "Model", path
    ran = {how for each in entries.values() for how in each.get("runs_with") or ()}
    name = "/".join(PurePosixPath(path.replace("\\", "/")).parts[-2:]).removeprefix("…/")
    served = ["vLLM"] if kind == "vllm" else []
    return "Checkpoint", " · ".join([name, *served, *sorted(ran)]) if name else ""


def _parameters(
    entry: Mapping[str, Any], parsers: Mapping[str, str], levels: Mapping[str, str]
) -> list[str]:
    kwargs = {
        name: value
        for name, value in (entry.get("kwargs") or {}).items()
        if value not in (None, QUIET_KWARGS.get(name))
    }
    given = {**(entry.get("generate_cfg") or {}), **kwargs}
    found = [f"{name} {cut(value, LONGEST_VALUE)}" for name, value in given.items()]
    prompts = entry.get("custom_prompt") or {}
    for name, level in levels.items():
        own = ["own prompt"] if prompts.get(name) else []
        own += [parsers[name].rpartition(".")[2]] if name in parsers else []
        found += [f"{level}: {', '.join(own)}"] if own else []
    return found or ["the defaults"] if entry else []


def parse_functions(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The user's parse functions that the scores were made with, by data set."""
    config = (manifest.get("scoring") or {}).get("config") or manifest.get("config") or {}
    entry = model_entry({**manifest, "config": config})
    found = {name: each.get("parse_function") for name, each in (config.get("data") or {}).items()}
    found |= entry.get("parse_function") or {}
    return {name: str(dotted) for name, dotted in found.items() if dotted}


def _data(entries: Mapping[str, Any]) -> str:
    kinds = {data_kind(entry) for entry in entries.values()}
    limit = max((entry.get("limit") or 0 for entry in entries.values()), default=0)
    of_files, found = kinds - {LIVE}, []
    if of_files == {SAMPLE}:
        found.append("sample data of the program: drawn screens, not a benchmark result")
    elif of_files == {PUBLISHED}:
        some = f", {limit} samples of each level" if limit else ""
        found.append(f"MMBench-GUI as published{some}")
    elif of_files:
        found.append("in part " * (of_files != {OTHER}) + "different from the published files")
    return "; ".join(found + ["tasks in live worlds"] * (LIVE in kinds))


def _samples(totals: Mapping[str, int]) -> str:
    episodes = totals.get("episodes", 0)
    asked = totals["samples"] - episodes
    parts = [f"{asked:,} on {totals['images']:,} images"] if asked or not episodes else []
    if episodes:
        tasks = counted(totals["tasks"], "task")
        parts.append(
            f"{counted(episodes, 'episode')} of {tasks}" if asked else f"{episodes:,} in {tasks}"
        )
    return ", ".join(parts)


def _date(text: str | None) -> str:
    try:
        return f"{datetime.fromisoformat(text or ''):%-d %b %Y, %H:%M} UTC"
    except ValueError:
        return ""


def _tokens(entries: Mapping[str, Any]) -> str:
    names = ("prompt_tokens", "completion_tokens")
    sums = [
        sum((each.get("tokens") or {}).get(name) or 0 for each in entries.values())
        for name in names
    ]
    return f"{sums[0]:,} in, {sums[1]:,} out" if any(sums) else "none reported"


def _duration(asking: Mapping[str, Any], entries: Mapping[str, Any]) -> str:
    """Of the newest run, which may have found answers of earlier ones."""
    if (wall_s := asking.get("wall_s")) is None:
        return ""
    times = [each["answered"][0] for each in entries.values() if each.get("answered")]
    is_part = min(times, default="~") < (asking.get("started_at") or "")
    minutes, seconds = divmod(round(wall_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        text = f"{hours} h {minutes:02} min"
    else:
        text = f"{minutes} min {seconds:02} s" if minutes else f"{format_number(wall_s, 1)} s"
    return text + ", the rest in earlier runs" * is_part


def _requests(entries: Mapping[str, Any], totals: Mapping[str, int]) -> str:
    """Of all turns and rotations, which the samples file does not have, and retries."""
    asked = sum(sum((each.get("statuses") or {}).values()) for each in entries.values())
    count = max(asked, totals["samples"]) + totals["requests"] - totals["samples"]
    again = f", {totals[REPEATED]:,} samples {REPEATED}" if totals[REPEATED] else ""
    return f"{count:,}{again}"
