"""Whether this Python can run the program at all.

A program calls it ahead of its other imports. So it needs the standard library only, and is written
for every Python that somebody may type by mistake.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

OLDEST = (3, 11)
NOTHING_RUN = 2  # as in utils.exit_codes
DISTRIBUTIONS = {"PIL": "pillow", "dotenv": "python-dotenv"}
"""What pip calls a package, where that is not the name it is imported by."""


def stop_unless_ready(*packages: str, program: str) -> None:
    """Ends the process with one line and code 2 where it would end with a traceback.

    Args:
        packages: what the program cannot do without, by the names they are imported by.
        program: its name, for the message.
    """
    problem = _problem(packages)
    if problem:
        sys.stderr.write(f"{program}: {problem}. Nothing was run.\n")
        sys.exit(NOTHING_RUN)


def _problem(packages: tuple[str, ...]) -> str:
    activate = "ctivate the environment (. .venv/bin/activate)"
    if tuple(sys.version_info[:2]) < OLDEST:
        needed, this = (".".join(map(str, each)) for each in (OLDEST, sys.version_info[:3]))
        return (
            f"needs Python {needed} or newer, and this is {this} ({sys.executable}). A{activate} "
            f"or make one: make demo PYTHON=python{needed}"
        )
    missing = sorted(DISTRIBUTIONS.get(name, name) for name in packages if find_spec(name) is None)
    if not missing:
        return ""
    return (
        f"this Python ({sys.executable}) lacks {', '.join(missing)}. A{activate} or fill this one: "
        "pip install -r requirements/core.txt"
    )
