"""JSON as every language reads it: without NaN and infinite numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(value: Any) -> str:
    """Return ASCII JSON on one line; numbers that JSON does not have become null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:  # whatever a server, a spreadsheet or a user's function came up with
        return json.dumps(finite(value), allow_nan=False, separators=(",", ":"))


def finite(value: Any) -> Any:
    """Return a copy of plain data with None for numbers that JSON does not have (NaN, infinity)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
