"""The program's own bundle: an archive of answers, scores, settings, and how to score it again.

`manifest.json` names a file of answers for each data set; the import reads them
(`utils.exchange.formats.bundle`). `config.json` has what reads the replies, and nothing about who
has answered; the settings of the run stand in the manifest, without secrets.
"""

from __future__ import annotations

import io
import json
import shlex
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from utils.contracts import Facts, repeat_of
from utils.errors import UserError
from utils.exchange.export.rows import (
    error_of,
    id_of,
    is_answered,
    is_resized,
)
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.files import MOST_SHEET_BYTES
from utils.exchange.formats.bundle import ENDING, FORM, MANIFEST
from utils.functions.names import is_in_program
from utils.program import EVALUATE
from utils.protocol import SINGLE
from utils.store.run_facts import SAMPLE, data_kind
from utils.text import as_json_text

NAME = "bundle"
TITLE = "all answers and scores in one archive, which --import scores again"
IS_FIGURE = False
IS_OF_ONE = False
VERSION = 1
MODEL_CLASS = "models.imported.AnswersMadeElsewhere"
NOT_OF_IMPORTS = ("circular", "judge", "match_mode", "repeats", "path", "parse_function")
"""Settings of a data set that answers made elsewhere cannot have, that come from the rows, or that
stand in the model's entry."""
OF_SERVERS = ("answered_by", "served", "servers")  # in the manifest's entry of a data set
HOW = """\
# Replies and verdicts of one run

Model: {model}. {origin}

| file | content |
|---|---|
| `manifest.json` | data sets with their checksums, settings of the run, figures |
| `*_answers.jsonl` | id, image, instruction, reply, point and verdict of each sample |
| `*_scores.json` | the scores |
| `config.json` | settings that read the replies |

## How the replies were read

| data set | parse function | postprocess function |
|---|---|---|
{functions}

Files of these functions that are not part of the evaluator: {files}.

## Score the replies again

1. Copy this archive, here called `{file}`, into the folder of the MMBench-GUI evaluator.
   Its commit was {commit}.
2. Copy the files of the functions into the same folder.
3. Run:

```
{data}
python -m zipfile -e {file} {folder}
python evaluate.py --config {folder}/config.json --import {file}
```
"""


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set has answers that can be read again: clicks, or single replies."""
    has_clicks = any("declined" in facts for facts in dataset.samples)
    return not dataset.has_episodes and (has_clicks or not dataset.has_follow_up)


def file_name(run: ExportedRun) -> str:
    """The name of the file."""
    return f"{run.file_stem}_bundle.zip"


def content(run: ExportedRun) -> bytes:
    """The archive."""
    parts: dict[str, str] = {}
    entries: dict[str, Any] = {}
    for dataset in run.sets:
        answers = f"{dataset.name}{ENDING}".replace("/", "_")
        lines = [json.dumps(row) for row in _rows(dataset)]
        parts[answers] = "".join(f"{line}\n" for line in lines)
        parts[f"{dataset.name}_scores.json".replace("/", "_")] = _json(dataset.scores)
        entries[dataset.name] = {**_entry(run, dataset), "answers": answers}
    parts[MANIFEST] = _json(_manifest(run, entries))
    parts["config.json"] = _json(_config(run))
    parts["HOW.md"] = _how(run)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            # A fixed time: the same run gives the same bytes.
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, text)
    return archive.getvalue()


def next_steps(run: ExportedRun, path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    with zipfile.ZipFile(path) as file:
        size = sum(part.file_size for part in file.infolist())
    if size > MOST_SHEET_BYTES:
        return [
            f"Unpacked, the bundle is larger than {MOST_SHEET_BYTES >> 20} MiB, the limit of "
            f"--import for archives. To score it again, unpack it and import each file *{ENDING} "
            "with --data NAME"
        ]
    files = _files_of_user(run)
    functions = f" in a folder with {', '.join(files)}" if files else ""
    archive, folder = shlex.quote(path), shlex.quote(Path(path).stem)
    return [
        f"To score it again, run{functions}:",
        f"  python -m zipfile -e {archive} {folder}",
        f"  {EVALUATE} --config {folder}/config.json --import {archive}",
    ]


def _rows(dataset: ExportedSet) -> Iterator[dict[str, Any]]:
    """Yield a row for each answer."""
    counts = Counter((id_of(facts), repeat_of(facts["key"])) for facts in dataset.samples)
    has_ids = max(counts.values(), default=0) == 1  # several questions on an image may share one
    for facts in dataset.samples:
        row: dict[str, Any] = {"id": id_of(facts)} if has_ids else {}
        row |= {
            "image": facts.get("image"),
            "instruction": facts.get("text"),
            "reply": dataset.reply_of(facts),
            "point_frac": facts.get("point_frac"),
            "verdict": facts.get("verdict"),
            "status": "answered" if is_answered(facts) else str(facts["status"]),
            "finish_reason": facts.get("finish_reason"),
        }
        row |= _seldom(facts, dataset)
        yield row


def _seldom(facts: Facts, dataset: ExportedSet) -> dict[str, Any]:
    """The fields that only few rows have."""
    values: dict[str, Any] = {
        "error": error_of(facts),
        "options": facts.get("options"),
        "usage": facts.get("usage"),
        "image_size": facts.get("file_wh"),
        "server": facts.get("server"),
    }
    if is_resized(facts):  # replies may count these pixels
        values |= {name: facts.get(name) for name in ("sent_wh", "seen_wh")}
    if repeat_of(facts["key"]) > 1:
        values["repeat"] = repeat_of(facts["key"])
    if dataset.reply_of(facts) is None:  # the point counts
        values["reply_to_crop" if facts.get("zoom") else "last_reply"] = dataset.response_of(facts)
        values["refused"] = facts.get("declined")
    return {name: value for name, value in values.items() if value}


def _entry(run: ExportedRun, dataset: ExportedSet) -> dict[str, Any]:
    """The manifest's entry of a data set."""
    entry = dataset.entry
    annotations = entry.get("annotations") or {}
    return {
        "level": dataset.level,
        "rows": len(dataset.samples),
        "mode": entry.get("mode"),
        "limit": entry.get("limit"),
        "partial": dataset.is_partial,
        "annotations": annotations.get("file"),
        "annotations_sha256": annotations.get("sha256"),
        "images": entry.get("pictures"),
        "protocol": entry.get("protocol", SINGLE),
        "reader": run.parse_function(dataset),
        "scored_with": run.scoring_config(dataset),
        "figures": dataset.figures,
        "warnings": dataset.doubts,
        "answered": entry.get("answered"),
    }


def _manifest(run: ExportedRun, entries: Mapping[str, Any]) -> dict[str, Any]:
    asking = run.manifest.get("asking") or {}
    served = {
        dataset.name: {name: dataset.entry.get(name) for name in OF_SERVERS}
        for dataset in run.sets
        if dataset.entry.get("servers") or dataset.entry.get("answered_by")
    }
    return {
        "form": FORM,
        "version": VERSION,
        "model": run.model,
        "imported": dict(run.imported) if run.imported is not None else False,
        "data": entries,
        "servers": served,
        "scores": {
            dataset.name: {name: cell["value"] for name, cell in dataset.figures.items()}
            for dataset in run.sets
        },
        "config": run.config,
        "versions": asking.get("versions"),
        "commit": run.commit,
        "made_at": run.made_at,
    }


def _config(run: ExportedRun) -> dict[str, Any]:
    """The config that reads the replies again.

    Raises:
        UserError: the data sets were scored with settings that one config cannot hold.
    """
    model: dict[str, Any] = {
        "imp_type": "custom",
        "model_path": MODEL_CLASS,
        "parse_function": _without_empty(
            {dataset.name: run.parse_function(dataset) for dataset in run.sets}
        ),
        "postprocess_function": _postprocess_function(run),
        "kwargs": _of_all(run, "kwargs"),
    }
    data = {dataset.name: _set_settings(run, dataset) for dataset in run.sets}
    return {"model": {run.model: _without_empty(model)}, "data": data}


def _postprocess_function(run: ExportedRun) -> Any:
    """The function that makes replies; None for a checkpoint, of which replies are exported."""
    if all(dataset.is_of_checkpoint for dataset in run.sets):
        return None
    return _of_all(run, "postprocess_function")


def _of_all(run: ExportedRun, key: str) -> Any:
    """The value of a key of the model's entry that all data sets were scored with.

    Raises:
        UserError: they were scored with different values.
    """
    values = {
        dataset.name: run.scoring_entry(dataset).get(key)
        for dataset in run.sets
        if run.scoring_config(dataset)
    }
    value = next(iter(values.values()), run.entry.get(key))
    if all(other == value for other in values.values()):
        return value
    texts = ", ".join(f"{name}: {as_json_text(other)}" for name, other in values.items())
    raise UserError(
        f"--export {NAME}: the data sets were scored with different values of {key}, and the "
        f"config of a bundle holds one ({texts}). Export them apart: --data NAME"
    )


def _set_settings(run: ExportedRun, dataset: ExportedSet) -> dict[str, Any]:
    settings: Mapping[str, Any] = _data_section(run, dataset) or {"mode": "all"}
    bundle_settings = {
        name: value for name, value in settings.items() if name not in NOT_OF_IMPORTS
    }
    return _without_empty(bundle_settings)


def _data_section(run: ExportedRun, dataset: ExportedSet) -> Mapping[str, Any]:
    """The section of a data set in the config that it was scored with; empty: not known."""
    sections = run.scoring_config(dataset).get("data") or {}
    section: Mapping[str, Any] = sections.get(dataset.name) or {}
    return section


def _without_empty(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value not in (None, {}, [])}


def _how(run: ExportedRun) -> str:
    origin = "A run of the MMBench-GUI evaluator got the answers."
    if run.imported is not None:
        origin = f"Answers made elsewhere: imported from {run.imported.get('file')}."
    is_sample = any(data_kind(dataset.entry) == SAMPLE for dataset in run.sets)
    return HOW.format(
        data="export LMUData=sample_data" if is_sample else "python utils/download.py",
        model=run.model,
        origin=origin,
        commit=run.commit[:8] or "unknown",
        file=file_name(run),
        folder=file_name(run).removesuffix(".zip"),
        functions="\n".join(_function_row(run, dataset) for dataset in run.sets),
        files=", ".join(f"`{file}`" for file in _files_of_user(run)) or "none",
    )


def _function_row(run: ExportedRun, dataset: ExportedSet) -> str:
    """The functions that a data set was scored with, as a row of a table."""
    cells = [
        run.parse_function(dataset),
        run.scoring_entry(dataset).get("postprocess_function"),
    ]
    usual = "default of the data set", "none"
    if not run.scoring_config(dataset):
        usual = "unknown", "unknown"
    texts = [f"`{cell}`" if cell else other for cell, other in zip(cells, usual, strict=True)]
    if dataset.is_of_checkpoint and cells[1]:
        texts[1] += " (has made the replies of this file; not called again)"
    return f"| {' | '.join([dataset.name, *texts])} |"


def _files_of_user(run: ExportedRun) -> list[str]:
    """The files, or the folders of packages, with the user's functions that `config.json` names."""
    files: dict[str, None] = {}
    for dataset in run.sets:
        section = _data_section(run, dataset)
        postprocess = run.scoring_entry(dataset).get("postprocess_function")
        dotted_paths = [
            run.parse_function(dataset),
            None if dataset.is_of_checkpoint else postprocess,
            section.get("benchmark"),
            *(section.get("audits") or ()),
        ]
        for dotted in dotted_paths:
            module, *others = str(dotted or "").split(".")
            if others and not is_in_program(str(dotted)):
                files[f"{module}.py" if len(others) == 1 else f"{module}/"] = None
    return sorted(files)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True) + "\n"
