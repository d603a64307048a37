"""Run utils/download.py and kill the process for real once a number of pictures are in place.

python hub_killed.py <pictures> <path of download.py> <its arguments>
"""

import os
import runpy
import signal
import sys
from pathlib import Path

renames_left = int(sys.argv[1])
rename = Path.replace


def rename_and_count(self: Path, target: Path) -> Path:
    global renames_left
    done = rename(self, target)
    renames_left -= Path(target).suffix == ".png"
    if renames_left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return done


Path.replace = rename_and_count
sys.argv[:] = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
