"""The files derived from a scored log, and the newest of each linked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

from utils import outputs
from utils.predictions import LogContent
from utils.run_folder import RunFolder
from utils.scoring import ScoredSet, predictions_of

Row = Mapping[str, Any]


class Naming(Protocol):
    """What the names and columns of the files depend on."""

    name: ClassVar[str]
    level: ClassVar[str]
    result_suffix: ClassVar[str]
    score_suffix: ClassVar[str]


def write_predictions(
    folder: RunFolder,
    dataset: str,
    content: LogContent,
    postprocess: Callable[[str], str],
    clean: Callable[[Any], Any],
    *,
    partial_run: bool,
) -> None:
    """The predictions alone, for `--mode infer`."""
    rows = clean(predictions_of(content, postprocess))
    sheet = folder.file(dataset, ".xlsx", partial=partial_run)
    outputs.write_sheet(sheet, outputs.columns_of(rows), rows)
    folder.link_newest([sheet, folder.log(dataset)])


def write_results(
    folder: RunFolder,
    benchmark: Naming,
    scored: ScoredSet,
    clean: Callable[[Any], Any],
    *,
    partial_run: bool,
) -> list[Path]:
    """Predictions, per-sample results and scores; returns their paths, scores last.

    Args:
        clean: removes secrets: a user's function may have put one into a reply.
    """
    name = partial(folder.file, benchmark.name, partial=partial_run)
    predictions = clean([{**s.line, "prediction": s.prediction} for s in scored.samples])
    columns = clean([dict(s.judgement.columns) for s in scored.samples])
    if benchmark.level == "L1":  # L2's file has columns of its own
        columns = [{**row, **more} for row, more in zip(predictions, columns, strict=True)]
    files = [
        name(".xlsx"),
        name(f"_{benchmark.result_suffix}.xlsx"),
        name(f"_{benchmark.score_suffix}.json"),
    ]
    outputs.write_sheet(files[0], outputs.columns_of(predictions), predictions)
    outputs.write_sheet(files[1], outputs.columns_of(columns), columns)
    outputs.write_json(files[2], scored.scores)
    folder.link_newest([*files, folder.log(benchmark.name)])
    return files
