"""Does the package work where there is no clone? Wheel and sdist, in bare environments.

python -m tools.release_check [--python PYTHON ...]

Builds both, installs the wheel with the extra `demo` under each Python (by default those named
python3.11 to python3.14 on PATH; others are named as missing), and runs the demo config in a folder
that has packages `utils`, `models` and `benchmarks` of its own. The figures have to be those of the
clone, which is run by this Python. Needs the network, for packages. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from utils.program import DISTRIBUTION
from utils.store.derived import MANIFEST_NAME

PROJECT = Path(__file__).parents[1]
UV = [sys.executable, "-m", "uv", "--quiet"]
NAMES = ("python3.11", "python3.12", "python3.13", "python3.14")
CONFIG = "configs/config_demo.json"
OWN_PACKAGES = ("utils", "models", "benchmarks")


def main() -> int:
    """Build, install and run; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=None, metavar="PYTHON")
    names = parser.parse_args().python or NAMES
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        wheel = built(home / "dist")
        sample_data = {"LMUData": str(PROJECT / "sample_data")}
        expected = figures_of([sys.executable, "evaluate.py"], PROJECT, home / "clone", sample_data)
        print(f"clone: {shown(expected)}")
        is_equal = True
        for name in names:
            python = shutil.which(name)
            if python is None or not runs(python):
                print(f"{name}: not here, not checked")
                continue
            figures = installed_figures(python, wheel, home / Path(name).name)
            is_equal = is_equal and figures == expected
            print(f"{name}: {'equal' if figures == expected else shown(figures)}", flush=True)
    return 0 if is_equal else 1


def runs(python: str) -> bool:
    """Whether a Python on PATH runs: that of a version manager may be a script that finds none."""
    return subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0


def built(folder: Path) -> Path:
    """Build sdist and wheel into a folder; return the path of the wheel."""
    subprocess.run([*UV, "build", "--out-dir", str(folder), str(PROJECT)], check=True)
    for path in sorted(folder.glob("*.*")):
        if not path.name.startswith("."):
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    return next(folder.glob("*.whl"))


def installed_figures(python: str, wheel: Path, home: Path) -> dict[str, Any]:
    """The figures of the demo config by the commands of an environment of its own."""
    environment = home / "environment"
    begin = time.monotonic()
    subprocess.run([*UV, "venv", "--python", python, str(environment)], check=True)
    target = ["--python", str(environment / "bin" / "python")]
    pins = ["-c", str(PROJECT / "requirements" / "dev_env.txt")]
    package = f"{DISTRIBUTION}[demo] @ {wheel.as_uri()}"
    subprocess.run([*UV, "pip", "install", *target, *pins, package], check=True)
    size_mb = sum(path.lstat().st_size for path in environment.rglob("*")) / 1e6
    print(f"{python}: {time.monotonic() - begin:.0f} s to install, {size_mb:,.0f} MB")
    here = home / "work"
    for name in OWN_PACKAGES:
        (here / name).mkdir(parents=True)
        (here / name / "__init__.py").write_text("raise RuntimeError('the wrong package')\n")
    shared = environment / "share" / "mmbench-gui"
    command = [str(environment / "bin" / "mmbench-gui")]
    variables = {"LMUData": str(shared / "sample_data")}
    config = shared / CONFIG
    check = [*command, "--config", str(config), "--check"]
    environ = {**os.environ, **variables}
    subprocess.run(check, cwd=here, env=environ, check=True, stdout=subprocess.DEVNULL)
    return figures_of(command, here, home / "outputs", variables, config)


def figures_of(
    command: list[str],
    cwd: Path,
    work_dir: Path,
    variables: dict[str, str],
    config: Path = PROJECT / CONFIG,
) -> dict[str, Any]:
    """Run the demo config and return the official figures by data set."""
    arguments = ["--config", str(config), "--work-dir", str(work_dir), "--quiet"]
    environ = {**os.environ, **variables}
    subprocess.run(
        [*command, *arguments], cwd=cwd, env=environ, check=True, stdout=subprocess.DEVNULL
    )
    manifest = json.loads((work_dir / "ocr-baseline" / MANIFEST_NAME).read_text("utf-8"))
    return {name: entry["figures"] for name, entry in manifest["datasets"].items()}


def shown(figures: dict[str, Any]) -> str:
    """Figures in one line."""
    parts = [
        f"{dataset} {name} {cell['value']:.2f}"
        for dataset, cells in figures.items()
        for name, cell in cells.items()
    ]
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
