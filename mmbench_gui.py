"""The commands of the installed package: `mmbench-gui`, `mmbench-gui-compare`, `-download`.

Each command runs the script that does the same in a clone.
"""

from __future__ import annotations

import runpy


def evaluate() -> None:
    """Run `evaluate.py`."""
    runpy.run_module("evaluate", run_name="__main__", alter_sys=True)


def compare() -> None:
    """Run `compare.py`."""
    runpy.run_module("compare", run_name="__main__", alter_sys=True)


def download() -> None:
    """Run `utils/download.py`."""
    runpy.run_module("utils.download", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    evaluate()
