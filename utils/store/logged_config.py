"""The config in the record of a logged run: how a model was asked then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utils.contracts import Record
from utils.geometry.zooming import Zoom
from utils.protocol import ZOOM


def entry_of_run(run: Record, name: str) -> Mapping[str, Any]:
    """A model's entry in the config of a logged run."""
    models = (run.get("config") or {}).get("model") or {}
    entry: Mapping[str, Any] = models.get(name) or {}
    return entry


def as_written(entry: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A model's entry of a logged config in the form of a config file.

    A record has a list of addresses under `servers`, a config file under `model_path`.
    """
    if entry is None or not isinstance(entry.get("servers"), list):
        return entry
    others = {key: value for key, value in entry.items() if key != "servers"}
    return {**others, "model_path": entry["servers"]}


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
