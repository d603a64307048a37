"""The addresses of several servers of one model: a list in the config, or a file or folder.

A file has one address a line, a folder one a file; both may change while a run goes on. An address
is a base URL, with `?model=...` or without: what it leaves out, `model_path` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from utils.config.endpoint import PLACEHOLDER_KEY, Endpoint, parse_endpoint
from utils.errors import UserError
from utils.geometry.images import expand_home

LARGEST_FILE = 1 << 20  # bytes that are read of it


@dataclass(frozen=True, slots=True)
class Addresses:
    """The servers that a source names now, and a problem for each line that names none."""

    endpoints: Sequence[Endpoint]
    problems: Sequence[str] = ()


def addresses_in(path: str, model_path: Endpoint) -> Addresses:
    """The servers that a file or folder names now; of one that is gone there are none.

    Args:
        path: of the file or folder.
        model_path: the endpoint of the model's entry, which says what an address leaves out.
    """
    source = expand_home(path)
    endpoints: dict[str, Endpoint] = {}
    problems: list[str] = []
    for line in _lines(source):
        try:
            endpoint = endpoint_at(line, model_path)
        except UserError as error:
            problems.append(f"{source}: {_shown(line)!r} {error}")
        else:
            endpoints.setdefault(endpoint.base_url.rstrip("/"), endpoint)
    return Addresses([*endpoints.values()], problems)


def as_of(address: str, model_path: Endpoint) -> Endpoint:
    """The endpoint of an address in a config; what it leaves out, `model_path` says."""
    endpoint = parse_endpoint(address)
    if endpoint.problem is not None:  # it names no model
        endpoint = replace(endpoint, model=model_path.model, problem=None)
    if endpoint.api_key == PLACEHOLDER_KEY:
        endpoint = replace(endpoint, api_key=model_path.api_key)
    return endpoint


def endpoint_at(address: str, model_path: Endpoint) -> Endpoint:
    """The endpoint of an address in a file.

    Raises:
        UserError: it is none, holds a key, or names another model.
    """
    written_endpoint = parse_endpoint(address)
    if written_endpoint.api_key != PLACEHOLDER_KEY or "@" in written_endpoint.base_url:
        raise UserError("holds a key, which belongs into model_path: ?api_key=${NAME}")
    endpoint = as_of(address, model_path)
    if endpoint.model != model_path.model:
        raise UserError(f'names the model "{endpoint.model}", model_path "{model_path.model}"')
    return endpoint


def _lines(source: Path) -> list[str]:
    """The lines of a file, or of all files of a folder, without comments."""
    files = [source]
    with suppress(OSError):  # a network disk that is away for a moment
        if source.is_dir():
            files = sorted(file for file in source.iterdir() if not file.name.startswith("."))
    lines: list[str] = []
    for file in files:
        try:
            with file.open("rb") as opened:
                text = opened.read(LARGEST_FILE).decode("utf-8", "replace")
        except OSError:  # taken away meanwhile
            continue
        lines += [line.strip() for line in text.lstrip("\ufeff").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def _shown(line: str) -> str:
    """An address as messages may quote it: what stands behind "?" and before "@" may be a key."""
    address = line.partition("?")[0]
    head, slashes, rest = address.rpartition("//")
    return f"{head}{slashes}{rest.rpartition('@')[2]}"[:200]
