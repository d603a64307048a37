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
    file = Path(__file__).with_name("published_results.json")
    return json.loads(file.read_text("utf-8"))  # type: ignore[no-any-return]
