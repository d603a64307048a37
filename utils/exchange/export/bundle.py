"""The program's own bundle: an archive of answers, scores, settings, and how to score it again.

`manifest.json` names a file of answers for each data set; the import reads them
(`utils.exchange.formats.bundle`). `config.json` has what reads the replies, and nothing about who
has answered; the settings of the run stand in the manifest, without secrets.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from utils.contracts import Facts, repeat_of
from utils.exchange.export.rows import (
    error_of,
    id_of,
    is_answered,
    is_resized,
    reply_of,
    response_of,
)
from utils.exchange.export.run import ExportedRun, ExportedSet
from utils.exchange.files import MOST_SHEET_BYTES
from utils.exchange.formats.bundle import ENDING, FORM, MANIFEST
from utils.program import EVALUATE
from utils.protocol import ACTING, SINGLE
from utils.store.run_facts import SAMPLE, data_kind

NAME = "bundle"
TITLE = "all answers and scores in one archive, which --import scores again"
IS_FIGURE = False
IS_OF_ONE = False
VERSION = 1
MODEL_CLASS = "models.imported.AnswersMadeElsewhere"
NOT_OF_IMPORTS = ("circular", "judge", "repeats", "path")
"""Settings of a data set that answers made elsewhere cannot have, or that come from the rows."""
OWN_ROOMS = ("benchmarks.", "models.", "utils.")  # functions that the program has
HOW = """\
# Replies and verdicts of one run

Model: {model}. {origin}

| file | content |
|---|---|
| `manifest.json` | data sets with their checksums, settings of the run, figures |
| `*_answers.jsonl` | id, image, instruction, reply, point and verdict of each sample |
| `*_scores.json` | the scores |
| `config.json` | settings that read the replies |

To score the replies again, run this in the folder of the evaluator, commit {commit}:

```
{data}
python evaluate.py --config config.json --import {file}
```

Unpack `config.json` first. Functions of the user to put beside it: {functions}.
"""


def takes(dataset: ExportedSet) -> bool:
    """Whether a data set has answers that can be read again; episodes have none."""
    return dataset.level not in ACTING


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


def next_steps(_run: ExportedRun, path: str) -> Sequence[str]:
    """The user's next steps with the file."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > MOST_SHEET_BYTES:
        return [
            f"Unpacked, the bundle is larger than {MOST_SHEET_BYTES >> 20} MiB, the limit of "
            f"--import for archives. To score it again, unpack it and import each file *{ENDING} "
            "with --data NAME"
        ]
    return [
        f"To score it again: unzip {path} config.json, then "
        f"{EVALUATE} --config config.json --import {path}"
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
            "reply": reply_of(facts),
            "point_frac": facts.get("point_frac"),
            "verdict": facts.get("verdict"),
            "status": "answered" if is_answered(facts) else str(facts["status"]),
            "finish_reason": facts.get("finish_reason"),
        }
        row |= _seldom(facts)
        yield row


def _seldom(facts: Facts) -> dict[str, Any]:
    """The fields that only few rows have."""
    values: dict[str, Any] = {
        "error": error_of(facts),
        "options": facts.get("options"),
        "usage": facts.get("usage"),
        "image_size": facts.get("file_wh"),
    }
    if is_resized(facts):  # replies may count these pixels
        values |= {name: facts.get(name) for name in ("sent_wh", "seen_wh")}
    if repeat_of(facts["key"]) > 1:
        values["repeat"] = repeat_of(facts["key"])
    if facts.get("zoom"):
        values["reply_to_crop"] = response_of(facts)
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
        "partial": dataset.is_partial,
        "annotations": annotations.get("file"),
        "annotations_sha256": annotations.get("sha256"),
        "images": entry.get("pictures"),
        "protocol": entry.get("protocol", SINGLE),
        "reader": run.parse_functions.get(dataset.name),
        "figures": dataset.figures,
        "warnings": dataset.doubts,
        "answered": entry.get("answered"),
    }


def _manifest(run: ExportedRun, entries: Mapping[str, Any]) -> dict[str, Any]:
    asking = run.manifest.get("asking") or {}
    served = {
        dataset.name: {name: dataset.entry.get(name) for name in ("served", "servers")}
        for dataset in run.sets
        if dataset.entry.get("servers")
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
    """The config that reads the replies again."""
    names = [dataset.name for dataset in run.sets]
    functions = {name: dotted for name, dotted in run.parse_functions.items() if name in names}
    model: dict[str, Any] = {
        "imp_type": "custom",
        "model_path": MODEL_CLASS,
        "parse_function": functions,
        "postprocess_function": run.entry.get("postprocess_function"),
        "kwargs": run.entry.get("kwargs"),
    }
    of_run = run.config.get("data") or {}
    data = {name: _set_settings(of_run.get(name) or {"mode": "all"}) for name in names}
    return {"model": {run.model: _without_empty(model)}, "data": data}


def _set_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    bundle_settings = {
        name: value for name, value in settings.items() if name not in NOT_OF_IMPORTS
    }
    return _without_empty(bundle_settings)


def _without_empty(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value not in (None, {}, [])}


def _how(run: ExportedRun) -> str:
    origin = "The answers were made by this program."
    if run.imported is not None:
        origin = f"Answers made elsewhere: imported from {run.imported.get('file')}."
    model = _config(run)["model"][run.model]
    dotted_paths = [*model.get("parse_function", {}).values(), model.get("postprocess_function")]
    functions = sorted(
        {f"`{dotted}`" for dotted in dotted_paths if dotted and not dotted.startswith(OWN_ROOMS)}
    )
    is_sample = any(data_kind(dataset.entry) == SAMPLE for dataset in run.sets)
    return HOW.format(
        data="export LMUData=sample_data" if is_sample else "python utils/download.py",
        model=run.model,
        origin=origin,
        commit=run.commit[:8] or "unknown",
        file=file_name(run),
        functions=", ".join(functions) or "none",
    )


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True) + "\n"
