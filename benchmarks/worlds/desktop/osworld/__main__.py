"""List the tasks of a folder in OSWorld's JSON that the desktop can run, and why not the others.

python -m benchmarks.worlds.desktop.osworld FOLDER
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.worlds.desktop.osworld.files import read_tasks


def main() -> int:
    """Print a line for each task; return 1 if there is none that can be run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worlds.desktop.osworld",
        description="List the tasks in OSWorld's JSON that the desktop can run.",
    )
    parser.add_argument("folder", type=Path, help="folder with tasks in OSWorld's JSON")
    folder = parser.parse_args().folder
    try:
        reading = read_tasks(folder)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    for task in reading.tasks:
        print(f"{task['id']}: can be run ({task['level']})")
    print(*reading.refusals, sep="\n")
    print(f"{len(reading.tasks)} can be run, {len(reading.refusals)} cannot")
    return int(not reading.tasks)


if __name__ == "__main__":
    sys.exit(main())
