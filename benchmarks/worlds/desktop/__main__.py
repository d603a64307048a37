"""Make the desktop, or say where it lies.

python -m benchmarks.worlds.desktop --make
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.worlds.desktop.root import desktop_folder, make, problems
from utils.errors import UserError


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.worlds.desktop", description="A Linux desktop for agents."
    )
    parser.add_argument("--make", action="store_true", help="fetch and prepare the desktop, once")
    if parser.parse_args().make:
        try:
            make()
        except UserError as error:
            print(*error.problems, sep="\n", file=sys.stderr)
            return 1
        return 0
    print(*(problems() or [f"The desktop is made: {desktop_folder()}"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
