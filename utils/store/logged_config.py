"""The config in the record of a logged run, or in a manifest: how a model was asked then.

The manifest of a folder has the config of its newest run. A data set that an earlier run asked or
scored otherwise has a config of its own in its entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from utils.config.endpoint import ADDRESS_NOT_SET
from utils.contracts import KWARGS_WITHOUT_EFFECT, Record
from utils.geometry.images import is_url
from utils.geometry.zooming import Zoom
from utils.protocol import ZOOM

KEYS_OF_ASKING = (
    "imp_type",
    "model_path",
    "api",
    "generate_cfg",
    "preprocess_function",
    "kwargs",
)
"""Of a model's entry: what decides about its answers, besides the prompt."""
FUNCTION_CODE = "function_code"  # of a run: hashes of the code of functions, by stage
_BY_DATA_SET = ("custom_prompt", "parse_function", "follow_up")  # keys of a model's entry
CONFIG, SCORING_CONFIG = "config", "scoring_config"  # in a data set's entry in the manifest


def entry_of_run(run: Record, name: str) -> Mapping[str, Any]:
    """A model's entry in the config of a logged run."""
    models = (run.get("config") or {}).get("model") or {}
    entry: Mapping[str, Any] = models.get(name) or {}
    return entry


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The key paths of a model's entry that decide its answers and have other values."""
    changed: list[str] = []
    is_address_open = str(now.get("model_path") or "").startswith(ADDRESS_NOT_SET)
    for key in KEYS_OF_ASKING:
        if key != "model_path" or not (is_address_open or _is_served_alike(before, now)):
            changed += changed_keys(key, before.get(key), now.get(key))
    return changed


def changed_code(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The functions whose code has changed, as far as their code was recorded."""
    return [
        f"code of the {stage} function"
        for stage, code in before.items()
        if stage in now and now[stage] != code
    ]


def changed_keys(key: str, before: Any, now: Any) -> list[str]:
    """The keys below one of a model's entry that have other values."""
    if isinstance(before, dict) and isinstance(now, dict):
        return [
            changed
            for name in sorted({*before, *now} - KWARGS_WITHOUT_EFFECT)
            for changed in changed_keys(f"{key}.{name}", before.get(name), now.get(name))
        ]
    return [] if before == now else [key]


def _is_served_alike(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two entries name the same model on servers, at least one of them on several."""
    if not (before.get("servers") or now.get("servers")):
        return False
    paths = [str(entry.get("model_path") or "") for entry in (before, now)]
    names = [parse_qs(path.partition("?")[2]).get("model") for path in paths]
    return all(map(is_url, paths)) and names[0] == names[1]


def as_written(entry: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A model's entry of a logged config in the form of a config file.

    A record has a list of addresses under `servers`, a config file under `model_path`.
    """
    if entry is None or not isinstance(entry.get("servers"), list):
        return entry
    others = {key: value for key, value in entry.items() if key != "servers"}
    return {**others, "model_path": entry["servers"]}


def data_as_written(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """A data set's entry of a logged config in the form of a config file.

    A record has the judge's model under `judge.model`, a config file has its keys in `judge`.
    """
    judge = entry.get("judge")
    if not judge:
        return entry
    limits = {key: value for key, value in judge.items() if key != "model"}
    model = as_written(judge.get("model")) or {}
    return {**entry, "judge": {**model, **limits}}


def zoom_of_run(run: Record, name: str) -> Zoom | None:
    """The second look of a logged run at its samples; None: there was none."""
    settings = entry_of_run(run, name).get("zoom")
    if run.get("protocol") != ZOOM or not settings:
        return None
    return Zoom.of(settings)


def parser_of_run(run: Record, name: str, dataset: str) -> str | None:
    """The dotted path of what read replies in a logged run; None: the default."""
    of_model: str | None = (entry_of_run(run, name).get("parse_function") or {}).get(dataset)
    if of_model:
        return of_model
    data = (run.get("config") or {}).get("data") or {}
    of_data: str | None = (data.get(dataset) or {}).get("parse_function")
    return of_data or None


def config_of_set(config: Mapping[str, Any], model: str, dataset: str) -> dict[str, Any]:
    """The part of a config that is about one model on one data set.

    Empty if the config is about other data sets. The only model of a config may have another name.
    """
    data, models = config.get("data") or {}, config.get("model") or {}
    entry = models.get(model) or next(iter(models.values()), None)
    if entry is None or (data and dataset not in data):
        return {}
    own_values = {
        key: {name: value for name, value in (entry.get(key) or {}).items() if name == dataset}
        for key in _BY_DATA_SET
        if key in entry
    }
    own_data = {dataset: data[dataset]} if data else {}
    return {"model": {model: {**entry, **own_values}}, "data": own_data}


def asked_with(manifest: Mapping[str, Any], dataset: str) -> Mapping[str, Any]:
    """The config that a data set was asked with, as `config_of_set`; empty: it is not known."""
    entry = (manifest.get("datasets") or {}).get(dataset) or {}
    of_newest = config_of_set(manifest.get("config") or {}, str(manifest.get("model")), dataset)
    return entry.get(CONFIG) or of_newest


def scored_with(manifest: Mapping[str, Any], dataset: str) -> Mapping[str, Any]:
    """The config that a data set was scored with, as `config_of_set`; empty: it is not known."""
    entry = (manifest.get("datasets") or {}).get(dataset) or {}
    config = (manifest.get("scoring") or {}).get("config") or manifest.get("config") or {}
    of_newest = config_of_set(config, str(manifest.get("model")), dataset)
    return entry.get(SCORING_CONFIG) or of_newest or entry.get(CONFIG) or {}
