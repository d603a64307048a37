"""Headless Chromium for tests of pages: skipped where there is none, unless REQUIRE_BROWSER=1."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

_RENDER = Path(__file__).resolve().parents[2] / "sample_data" / "render.py"


def render_module() -> ModuleType:
    """`sample_data/render.py`, which knows the browser and its flags; a script, not a package."""
    name = "sample_data_render"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _RENDER)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def need_browser() -> ModuleType:
    """The module whose `open_browser` works here; otherwise the test ends, skipped or failed."""
    render = render_module()
    if importlib.util.find_spec("playwright") is None:
        missing = "playwright is not installed"
    elif shutil.which(render.CHROMIUM) is None:
        missing = f"{render.CHROMIUM} is missing"
    else:
        return render
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {missing}")
    pytest.skip(missing)
