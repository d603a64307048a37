"""MMBench-GUI: measures how well a vision-language model understands graphical user interfaces.

    python evaluate.py --config configs/config_demo.json

arguments → config → check → for each model: infer → evaluate → write → summary
"""

from __future__ import annotations

import gc
import sys

if __name__ == "__main__":  # ahead of the imports that would end in a traceback
    gc.disable()  # what imports make stays; to look for garbage in it takes a tenth of the start
    from utils.starting import interruptible_imports, say_that_it_starts, stop_unless_ready

    interruptible_imports()
    say_that_it_starts("evaluate.py", sys.argv[1:])
    REQUIRED = "PIL blake3 dotenv filelock numpy pybase64 pydantic rapidjson tqdm xlsxwriter"
    stop_unless_ready(*REQUIRED.split(), program="evaluate.py")

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import benchmarks
import models
from utils.config.environment import load_dotenv_files
from utils.config.options import options_of
from utils.engine.interrupt import leave
from utils.session.start import errors_for_callers, run_command, run_for_caller
from utils.store.load import ResultsOfModels, load_run

__all__ = ["load_run", "main", "run"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, also for `--help` and bad arguments."""
    typed = sys.argv[1:] if arguments is None else arguments
    return run_command([*map(str, typed)], benchmarks, models)


def run(config: str | Path | Mapping[str, Any], **options: Any) -> ResultsOfModels:
    """Run a config in this process, as the command line does.

        results = run("configs/my_model.json", model="my-model", limit=20, quiet=True)
        results[0].table("GUIElementGrounding")

    Args:
        config: path of a config file, or a dict with the same content.
        options: options of the command line with `_` for `-`: `data`, `model` (a name or a list),
            `work_dir`, `set`, `mode`, `api_nproc`, `limit`, `fresh=True`, `quiet=True`, ...

    Returns:
        A list with the results of each model, in the order of the config. With `mode="eval"`, a
        model has an entry for each folder that was scored. `print` shows their figures. A sample
        without an answer raises no error and counts as wrong; `samples["status"]` marks it.

    Raises:
        UserError: the run has problems, before it starts or afterwards; the error lists them all.
        Interrupted: Ctrl-C was pressed; the same call continues the run.
    """
    load_dotenv_files()
    with errors_for_callers():
        results = run_for_caller(options_of(config, options), benchmarks, models)
        return ResultsOfModels(results)


if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    leave(main())
