"""`model-index` for the card of a model: the part between the `---` lines of its README.md.

Source: huggingface_hub 2.4.0 `repocard_data.py`. It has no place for notes, so these are comments.
"""

from __future__ import annotations

from collections.abc import Sequence

from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.export.tables import TABLES
from utils.protocol import MADE_ELSEWHERE

NAME = "model_index"
TITLE = "model-index for the card of the model"
IS_FIGURE = True
IS_OF_ONE = False
TASK = "image-text-to-text"


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set is a published table."""
    return dataset.table in TABLES


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_model_index.yaml"


def content(run: ExportedRun) -> bytes:
    """The file."""
    from huggingface_hub import EvalResult, ModelCardData

    mark = "" if run.imported is None else f" ({MADE_ELSEWHERE})"
    comments: list[str] = []
    results: list[EvalResult] = []
    for dataset in run.sets:
        table = TABLES[dataset.table]
        comments.append(f"# {table.title}: {run.notes(dataset)}".replace("\n", " "))
        results += [
            EvalResult(
                task_type=TASK,
                task_name="GUI understanding",
                dataset_type=table.hub_id,
                dataset_name=table.title,
                metric_type="accuracy",
                metric_name=f"{title}, {cell['samples']:,} rows{mark}",
                metric_value=round(float(cell["value"]), 2),
            )
            for title, cell in dataset.headlines.items()
        ]
    card = ModelCardData(model_name=run.model, eval_results=results)
    return ("\n".join(comments) + "\n" + str(card.to_yaml()) + "\n").encode()


def next_steps(_run: ExportedRun, _path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    return ["It goes between the --- lines of the model's README.md"]
