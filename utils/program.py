"""The program itself: where it lies, and how it is called there.

In a clone it is run from its folder, `python evaluate.py`; installed as a package it has commands,
and what else a clone holds lies below `share/mmbench-gui` of the environment.
"""

from __future__ import annotations

import sys
from pathlib import Path

from utils import PROJECT

IS_CLONE = (PROJECT / "pyproject.toml").is_file()
SHARED = PROJECT if IS_CLONE else Path(sys.prefix) / "share" / "mmbench-gui"
"""The folder of `sample_data`, `configs` and `examples`."""
EVALUATE = "python evaluate.py" if IS_CLONE else "mmbench-gui"
COMPARE = "python compare.py" if IS_CLONE else "mmbench-gui-compare"
DOWNLOAD = "python utils/download.py" if IS_CLONE else "mmbench-gui-download"
CONFIGS = "configs" if IS_CLONE else str(SHARED / "configs")
DISTRIBUTION = "mmbench-gui-evaluator"
OWN = frozenset(PROJECT / name for name in ("benchmarks", "models", "utils"))
"""The folders of its packages."""
