"""Write the manifest of a run's folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress

from utils import PROJECT
from utils.errors import StopRun
from utils.images import data_root, image_root
from utils.run.outcome import Done
from utils.run.plan import Plan
from utils.runs.derived import MANIFEST_NAME, read_json
from utils.runs.folder import RunFolder
from utils.runs.manifest import manifest_of, scoring_of
from utils.runs.seals import merged
from utils.scoring.sheets import write_json


def write_manifest(plan: Plan, folder: RunFolder, done: Sequence[Done]) -> None:
    entries = {each.dataset: each.entry for each in done if each.entry is not None}
    is_scored = any(each.is_scored for each in done)
    scoring = scoring_of(plan.options.arguments, plan.dump) if is_scored else None
    stopped = {
        each.dataset: {
            "level": plan.data[each.dataset].benchmark.level,
            "why": each.why,
        }
        for each in done
        if each.problems
    }
    places = {
        "$LMUData": data_root(),
        "$IMAGE_ROOT_DIR": image_root(),
        "$EVAL_WORK_DIR": plan.options.work_dir,
        ".": PROJECT,
    }
    path = folder.path / MANIFEST_NAME
    before = read_json(path, must_be_whole=False)
    written = {name: sha256 for each in done for name, sha256 in each.checksums.items()}
    files = merged(folder.path, before, written)
    if manifest := manifest_of(folder.model, before, entries, scoring, places, stopped, files):
        # Of a full disk has been told where it stopped a data set.
        with suppress(StopRun) if stopped and not entries else nullcontext():
            write_json(path, plan.secrets.clean_object(manifest))
            whole = [name for name, entry in entries.items() if not entry.facts["partial"]]
            folder.link_newest([path], {each.dataset for each in done}.difference(whole))
