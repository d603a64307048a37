"""`manifest.json` of a run's folder: what was asked of whom, with what, and how to do it again.

Files that end in `_partial` have `manifest_partial.json`, for a run of five samples may not speak
for the scores of thousands.

Written when a run is done, from its log and from what is loaded by then, so that nothing waits for
it; `--mode eval` renews what it does itself and keeps the facts of the asking. Its fields:

format, model, config      the resolved config of the asking, without secrets
asking                     of the newest run that asked: started_at, ended_at, wall_s, cpu_s,
                           command, config_file {name, sha256}, git, versions, hardware,
                           environment; only what the log has
                           (`"from": "log"`) where the run did not live to write this file
scoring                    of the newest scoring: at, command, git, environment; config where it is
                           not the one of the asking
datasets                   by name: level, mode, limit, started_at, samples, missing, left_out,
                           statuses, tokens, answered (first and last time);
                           runs: all that this folder has seen, with what they asked and reused;
                           prompts {count, sha256}: over the messages as the model was shown them;
                           annotations {file, bytes, md5, sha256}, or {file, gone};
                           pictures {count, digest}: SHA-256 over the lines "<BLAKE3>  <path>\\n",
                           sorted by path; functions: the user's, each with the hash of its code
reproduce                  commands and inputs that a second run needs

Paths: `$LMUData` is the data root, `$EVAL_WORK_DIR` the work-dir, `.` the project, `~` the home.
"""

from __future__ import annotations

import datetime
import hashlib
import inspect
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils import PROJECT
from utils.config.text import names_in
from utils.contracts import Record, turn_key
from utils.errors import StopRun, UserError
from utils.functions.fingerprints import code_digest
from utils.images import content_digest, data_root, image_root
from utils.import_utils import resolve
from utils.runs.finished import MANIFEST_NAME, PARTIAL_MANIFEST_NAME, read_if_whole
from utils.runs.folder import RunFolder
from utils.runs.log import runs_of
from utils.runs.portable_paths import portable
from utils.runs.provenance import environment, hardware, versions
from utils.runs.reproduce import command_line, reproduce
from utils.runs.surroundings import git_state
from utils.runs.view import LogView
from utils.scoring.sheets import write_json

FORMAT = 1
ASKING_ROLES = ("prompt", "preprocess")  # functions that a scoring does not call


def write_manifests(
    plan: Any, folder: RunFolder, datasets: Sequence[str], scored: Sequence[str]
) -> None:
    """Writes the manifest of a folder that a run has worked in.

    Scores are there already, and the report and other models come after it, so what goes wrong
    here is one line of warning.

    Raises:
        StopRun: a folder cannot be written.
    """
    try:  # of what could not be scored, scoring again brings nothing new
        write_manifest(plan, folder, scored if plan.options.mode == "eval" else datasets)
    except StopRun:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, it may not cost what follows
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"warning: {folder.path}: no manifest ({why}); scores and logs are complete")


@dataclass(frozen=True, slots=True)
class _Looked:
    """What is taken from one log: the run that counts, its end, all runs, facts of the answers."""

    run: Record
    end: Record
    is_part: bool
    facts: dict[str, Any]


def write_manifest(plan: Any, folder: RunFolder, datasets: Sequence[str]) -> list[Path]:
    """Writes or renews the manifests of a run's folder.

    Args:
        datasets: those that this run asked or scored; what is known of others stays.

    Returns:
        That of the whole files, that of the partial ones, or both.

    Raises:
        StopRun: the folder cannot be written.
    """
    logs = {name: _look(plan, folder, name) for name in datasets}
    whole = {name: log for name, log in logs.items() if not log.is_part}
    part = {name: log for name, log in logs.items() if log.is_part}
    paths = []
    if whole:
        paths.append(_write(plan, folder, whole, folder.path / MANIFEST_NAME))
        _drop_entries(folder.path / PARTIAL_MANIFEST_NAME, whole)
    if part:
        paths.append(_write(plan, folder, part, folder.path / PARTIAL_MANIFEST_NAME))
    folder.link_newest(folder.path / name for name in (MANIFEST_NAME, PARTIAL_MANIFEST_NAME))
    return paths


def _view_of(plan: Any, folder: RunFolder, name: str) -> LogView:
    if plan.options.mode != "eval":
        return LogView(folder.log(name))
    return LogView(folder.log(name), plan.data[name].mode, plan.options.limit)


def _look(plan: Any, folder: RunFolder, name: str) -> _Looked:
    data = plan.data[name]
    with closing(_view_of(plan, folder, name)) as log:
        run = {key: value for key, value in (log.run or {}).items() if key != "samples"}
        facts: dict[str, Any] = {
            "level": data.benchmark.level,
            "mode": log.mode,
            "limit": log.limit,
            "started_at": run.get("started_at"),
            "samples": len(log.covered),
            "missing": log.missing,
            "left_out": len(log.left_out),
            "runs": [
                {"started_at": each.begin.get("started_at"), "limit": each.begin.get("limit"),
                 **{key: each.end.get(key) for key in ("ended_at", "wall_s", "asked", "reused")}}
                for each in runs_of(folder.log(name))
            ],
            **_of_answers(log),
        }  # fmt: skip
        return _Looked(run, log.end, log.is_part(data.mode, plan.options.limit), facts)


def _drop_entries(path: Path, datasets: Iterable[str]) -> None:
    """Takes data sets out of a manifest, and the manifest away that is left with none."""
    manifest = read_if_whole(path)
    if not manifest:
        path.unlink(missing_ok=True)
        return
    dropped = set(datasets)
    entries = {n: e for n, e in (manifest.get("datasets") or {}).items() if n not in dropped}
    if entries:
        write_json(path, {**manifest, "datasets": entries})
    else:
        path.unlink()


def _write(plan: Any, folder: RunFolder, logs: Mapping[str, _Looked], path: Path) -> Path:
    before = read_if_whole(path)
    asked_then = before if plan.options.mode == "eval" else None
    ends = [(log.run, log.end) for log in logs.values()]
    asking, config = _asking(plan, folder.model, ends, asked_then)
    entries = dict(before.get("datasets") or {})
    for name, log in logs.items():
        entries[name] = _dataset(plan, folder.model, name, log, entries.get(name) or {})
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "model": folder.model,
        "config": config,
        "asking": asking,
        "datasets": entries,
    }
    if plan.options.mode != "infer":
        manifest["scoring"] = {
            "at": _now(),
            "command": command_line(plan.options.arguments),
            "git": git_state(PROJECT, _own_files(plan, folder.model)),
            "environment": environment(os.environ, ()),
        }
    elif "scoring" in before:
        manifest["scoring"] = before["scoring"]
    rewrite = portable({
        "$LMUData": data_root(), "$IMAGE_ROOT_DIR": image_root(),
        "$EVAL_WORK_DIR": plan.options.work_dir, ".": PROJECT,
    })  # fmt: skip
    manifest, present = rewrite([manifest, plan.dump])
    if plan.options.mode == "eval" and present != manifest["config"]:
        manifest["scoring"]["config"] = present
    manifest["reproduce"] = reproduce(manifest, plan.config.path.name)
    write_json(path, plan.secrets.clean_object(manifest))
    return path


def _asking(
    plan: Any,
    model: str,
    ends: Sequence[tuple[Record, Record]],
    before: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The facts of the asking, and its config.

    Args:
        ends: of each data set the run that counts, and its end.
        before: the manifest that was written then; None if this run has asked.
    """
    runs, closings = zip(*ends, strict=True)
    newest = max(runs, key=lambda run: run.get("started_at", ""))
    end = max(closings, key=lambda end: end.get("ended_at", ""))
    started_at = min(run.get("started_at", "") for run in runs)
    facts = {
        "started_at": started_at,
        "ended_at": end.get("ended_at"),
        "wall_s": end.get("wall_s"),
        "cpu_s": end.get("cpu_s"),
    }
    if before is None:
        own = {
            "command": command_line(plan.options.arguments),
            "config_file": _config_file(plan.config.path),
            "git": git_state(PROJECT, _own_files(plan, model)),
            "versions": versions(),
            "hardware": hardware(),
            "environment": environment(os.environ, _config_names(plan.config.path)),
        }
        return facts | own, plan.dump
    told = before.get("asking") or {}
    if told.get("hardware") and (told.get("ended_at") or "") >= started_at:
        return dict(told), before.get("config") or plan.dump
    of_log = {
        "from": "log",
        "command": command_line(newest.get("arguments") or ()),
        "git": newest.get("git") or {},
        "versions": newest.get("versions") or {},
    }
    return facts | of_log, newest.get("config") or plan.dump


def _dataset(
    plan: Any, model: str, name: str, log: _Looked, before: Mapping[str, Any]
) -> dict[str, Any]:
    data, entry = plan.data[name], plan.config.model[model]
    is_same_run = before.get("started_at") == log.run.get("started_at")
    found = dict(log.facts)
    if plan.options.mode != "eval":
        samples = data.loaded.samples[: plan.options.limit]
        found["annotations"] = _annotations(data.benchmark.annotation_file)
        found["pictures"] = pictures_digest(
            {str(sample.line["image_path"]): sample.image for sample in samples}
        )
    elif is_same_run:
        kept = ("annotations", "pictures")
        found |= {each: before[each] for each in kept if each in before}
    functions = {
        role: _function(role, dotted)
        for role, dotted in {
            "prompt": entry.custom_prompt.get(name),
            "preprocess": entry.preprocess_function,
            "postprocess": entry.postprocess_function,
            "parse": plan.config.data[name].parse_function,
        }.items()
        if dotted
    }
    if plan.options.mode == "eval" and is_same_run:  # these have had their part in the asking
        then = before.get("functions") or {}
        functions = {role: each for role, each in functions.items() if role not in ASKING_ROLES}
        functions |= {role: each for role, each in then.items() if role in ASKING_ROLES}
    found["functions"] = functions
    return found


def _of_answers(log: LogView) -> dict[str, Any]:
    """Statuses, tokens and prompts of the samples that a log covers, rotations included."""
    statuses: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    first, last = "", ""
    prompts: list[bytes] = []  # hashes only: a run may have 50,000 prompts
    for record in _all_turns(log):
        statuses[record["status"]] += 1
        for kind in ("prompt_tokens", "completion_tokens"):
            tokens[kind] += (record.get("usage") or {}).get(kind) or 0
        asked_at = record.get("asked_at") or ""
        first, last = min(first or asked_at, asked_at), max(last, asked_at)
        prompt = json.dumps([record["key"], record.get("prompt")], sort_keys=True)
        prompts.append(hashlib.sha256(prompt.encode("ascii")).digest())
    return {
        "statuses": dict(statuses),
        "answered": [first, last] if prompts else [],
        "tokens": dict(tokens),
        "prompts": {"count": len(prompts), "sha256": _digest_of(prompts)},
    }


def _digest_of(hashes: list[bytes]) -> str:
    """One hash over many, whatever their order."""
    return hashlib.sha256(b"".join(sorted(hashes))).hexdigest()


def _all_turns(log: LogView) -> Iterator[Record]:
    for key in log.covered:
        number = 0
        while (record := log.record(turn_key(key, number))) is not None:
            yield record
            number += 1


def _annotations(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError:  # taken away while the run went on
        return {"file": path.name, "gone": True}
    return {
        "file": path.name,
        "bytes": len(data),
        "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def pictures_digest(pictures: Mapping[str, Path]) -> dict[str, Any]:
    """One checksum of many pictures; the engine has hashed those it sent, which is remembered.

    Args:
        pictures: file by path relative to the image root.
    """
    whole, gone = hashlib.sha256(), 0
    for name, file in sorted(pictures.items()):
        try:
            content = content_digest(file).removeprefix("blake3:")
        except OSError:  # taken away while the run went on
            content, gone = "gone", gone + 1
        whole.update(f"{content}  {name}\n".encode("utf-8", "surrogatepass"))
    found: dict[str, Any] = {"count": len(pictures), "digest": f"sha256:{whole.hexdigest()}"}
    return found | ({"gone": gone} if gone else {})


def _function(role: str, dotted: str) -> dict[str, Any]:
    try:
        return {"path": dotted, "code": code_digest(resolve(dotted, role=role))}
    except UserError:  # taken away since the run was checked
        return {"path": dotted, "code": None}


def _own_files(plan: Any, model: str) -> list[Path]:
    """The config and the files of the functions and classes that it names for a model."""
    entry = plan.config.model[model]
    named = [
        *entry.custom_prompt.values(), entry.preprocess_function, entry.postprocess_function,
        *(data.parse_function for data in plan.config.data.values()),
        entry.model_path if entry.imp_type == "custom" else None,
    ]  # fmt: skip
    files = [plan.config.path]
    for dotted in filter(None, named):
        try:
            files.append(Path(inspect.getfile(inspect.unwrap(resolve(dotted, role="manifest")))))
        except (UserError, TypeError, OSError):  # gone, a callable object, or of C
            continue
    return list(dict.fromkeys(files))


def _config_file(path: Path) -> dict[str, Any]:
    try:
        return {"name": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    except OSError:  # taken away while the run went on
        return {"name": path.name, "sha256": None}


def _config_names(path: Path) -> list[str]:
    """Names that the config takes from the environment."""
    try:
        return sorted(set(names_in(path.read_text("utf-8-sig"))))
    except (OSError, ValueError):
        return []


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
