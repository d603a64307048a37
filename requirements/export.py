"""The files that pip installs from, written from uv.lock.

    python requirements/export.py            # writes them
    python requirements/export.py --check    # names those that differ from the lock; exit code 1

`make lock` does the first after renewing the lock, `make check` the second.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
UV = [sys.executable, "-m", "uv", "--offline", "--quiet", "export", "--frozen"]
PINS_ALONE = ["--no-header", "--no-annotate", "--no-hashes", "--no-emit-project"]
SOURCE = "# Exact versions, exported from uv.lock by make lock; pyproject.toml has the ranges.\n"
EVERYTHING = "--all-extras --all-groups"
FILES = {  # file: what is exported to it, and the comment at its top
    "requirements/core.txt": (
        "",
        "# API models, scoring, the command line. No torch.\n",
    ),
    "requirements/demo.txt": (
        "--extra demo",
        "# core.txt, and the embedded OCR baseline of the demo: models/ocr_baseline/.\n",
    ),
    "requirements/live.txt": (
        "--extra live",
        "# core.txt, and the live worlds of L3 and L4. They also need a Chromium: the system's\n"
        "# (apt install chromium), or Playwright's own (playwright install chromium).\n",
    ),
    "requirements/jupyterlab.txt": (
        "--extra jupyterlab",
        "# live.txt, and the suite jupyterlab of L3 and L4: a JupyterLab as it is on PyPI.\n",
    ),
    "requirements/local.txt": (
        "--extra local",
        "# core.txt, and models that run from a checkpoint on this machine\n"
        '# (`imp_type: "transformers"`). About 5.5 GB installed.\n',
    ),
    "requirements/dev.txt": (
        EVERYTHING,
        "# All models and worlds, tests, lint, types. About 6 GB installed.\n",
    ),
    "requirements/dev_env.txt": (
        EVERYTHING,
        "# What the tests run with, as constraints: pip install X -c requirements/dev_env.txt\n",
    ),
    "requirements.txt": (
        "--extra local --group test",
        "# API models, local models, scoring, tests. Smaller: requirements/core.txt (servers and\n"
        "# scoring, no torch); the OCR baseline of the demo: requirements/demo.txt.\n",
    ),
}


def exported(path: str) -> str:
    """The text of one file."""
    arguments, comment = FILES[path]
    command = [*UV, *PINS_ALONE, *arguments.split()]
    pins = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return f"{comment}{SOURCE}{pins}"


def main(arguments: list[str]) -> int:
    """Write the files or name those that differ; the exit code."""
    texts = {path: exported(path) for path in FILES}
    if "--check" not in arguments:
        for path, text in texts.items():
            (ROOT / path).write_text(text, encoding="utf-8")
        return 0
    differing = [path for path, text in texts.items() if (ROOT / path).read_text("utf-8") != text]
    if differing:
        print(
            f"{', '.join(differing)}: not what uv.lock says. Run `make lock` and commit the files."
        )
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
