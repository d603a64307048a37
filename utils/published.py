"""The results that were published with the benchmark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Published = Mapping[str, Any]
"""Data set → row of its table → model → column → percent; and "source"."""


def read_published() -> Published:
    """Return the published results of other models, as `published_results.json` has them."""
    folder = Path(__file__).parent
    levels, tables = (
        json.loads((folder / f"published_{name}.json").read_text("utf-8"))
        for name in ("results", "tables")
    )
    return {**tables, **levels, "source": f"{levels['source']}; {tables['source']}"}
