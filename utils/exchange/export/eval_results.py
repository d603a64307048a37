"""`.eval_results/screenspot_pro.yaml` in a model's repository on the hub.

Source: huggingface/hub-docs @ 242f4a1 `eval_results.yaml`, `docs/hub/eval-results.md`. Of the data
sets here the hub takes figures of ScreenSpot-Pro alone, in percent.
"""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Sequence

from utils.errors import UserError
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.export.tables import TABLES

NAME = "eval_results"
TITLE = "ScreenSpot-Pro's figure for the hub, .eval_results/screenspot_pro.yaml"
IS_FIGURE = True
IS_OF_ONE = True
TABLE = "ScreenSpot-Pro"
PATH_IN_REPOSITORY = ".eval_results/screenspot_pro.yaml"


def takes(dataset: ExportedSet) -> bool:
    """Whether the hub has a leaderboard for a data set."""
    return dataset.table == TABLE


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_eval_results_screenspot_pro.yaml"


def content(run: ExportedRun) -> bytes:
    """The file: a list with one entry.

    Raises:
        UserError: the id of the task is not known.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]

    hub_id = TABLES[TABLE].hub_id
    if not run.task_id:
        raise UserError(
            f"--export {NAME}: the id of the leaderboard's task is missing: set --task-id ID. "
            f"The id is in https://huggingface.co/datasets/{hub_id}/blob/main/eval.yaml"
        )
    dataset = run.sets[0]
    _, cell = next(iter(dataset.headlines.items()))
    entry = EvalResultEntry(
        dataset_id=hub_id,
        task_id=run.task_id,
        value=round(float(cell["value"]), 2),
        date=_date(run.made_at),
        notes=run.notes(dataset),
    )
    text: str = yaml_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, width=10_000)
    return text.encode()


def next_steps(run: ExportedRun, path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    repository = run.hub_id or "ORGANISATION/MODEL"
    return [
        "To submit the file as a pull request of your own:",
        f"  hf upload {repository} {shlex.quote(path)} {PATH_IN_REPOSITORY} --create-pr",
        "If others can see the replies, add to the entry: source: {url: ..., name: ...}",
    ]


def _date(moment: str) -> str | None:
    """A time as the hub has it; None where it is not known."""
    if not moment:
        return None
    utc = datetime.datetime.fromisoformat(moment).astimezone(datetime.UTC)
    return utc.strftime("%Y-%m-%dT%H:%M:%SZ")
