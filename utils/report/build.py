"""Builds `<run folder>/report/index.html` from the derived files of a run.

The samples are read once, one at a time; what the gallery lists goes to `data/rows_N.js`, what one
sample's view needs to `data/details_N.js` and `data/replies_N.js`, the rest to `data/summary_0.js`.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from utils.contracts import Facts
from utils.images import image_root
from utils.protocol import unit_of
from utils.report.checks import checks_of, notices_of, tables_of, tags_by_sample
from utils.report.data_files import (
    Chunks,
    Facets,
    ToJson,
    columns,
    replaced_folder,
    value_of,
    write_script,
)
from utils.report.overview import NO_ANSWER, Tally, run_checks, scores_of
from utils.report.pictures import CACHE_FOLDER, Pictures
from utils.report.privacy import path_hider, without_absolute_paths
from utils.report.run_facts import REPORT_FOLDER, is_whole, model_entry, run_facts, stops
from utils.runs.derived import MANIFEST_NAME, ScoredFiles, read_json, scored_files
from utils.runs.folder import RunFolder
from utils.runs.provenance import pictures_digest
from utils.runs.seals import STAMP, stamp_of
from utils.text import counted

ASSETS = Path(__file__).parent / "assets"
ROWS_PER_FILE, DETAILS_PER_FILE, REPLIES_PER_FILE = 4000, 200, 500
FACETS = (
    "dataset",
    "platform",
    "split",
    "kind",
    "app",
    "verdict",
    "status",
    "finish",
    "ended",
    "error",
    "check",
)
"""What the list filters by, as `FIELDS` in `store.js`."""
REPLY_FIELDS = ("prediction", "raw", "reasoning", "key")
TURN_FIELDS = ("options", "answer", "chosen", "status", "verdict", "prediction")
ROW_FIELDS = ("index", "text", "box_frac", "point_frac", "answer", "chosen", "image_digest")
NOT_IN_DETAILS = {*FACETS, *ROW_FIELDS, *REPLY_FIELDS, "hit", "image"} - {"error", "key"}


def report_after_run(
    run: RunFolder, scored: Collection[str], *, work_dir: Path, small_images: bool
) -> None:
    """Builds the report of a folder in which a run has scored some data sets; prints where it is.

    Scores and all other files are there already, so what goes wrong here is one line of warning.
    """
    if not scored and not (run.path / REPORT_FOLDER).exists():
        return
    try:
        shown = _shown_files(run.path)
        page = build_report(
            run.path,
            image_root=image_root(),
            cache=work_dir / CACHE_FOLDER,
            small_images=small_images,
        )
    except Exception as error:  # noqa: BLE001  whatever it is, it may not cost the exit code
        why = f"{type(error).__name__}: {error}".splitlines()[0]
        print(f"warning: {run.path}: no report ({why}); scores and all other files are complete")
        if (run.path / REPORT_FOLDER).exists():
            print(f"  {run.path / REPORT_FOLDER} is of an earlier scoring")
        return
    if not scored:  # the page from before is none of this run's, but says now why not
        return
    run.link_newest([page.parent], scored)
    if earlier := [name for name in shown if name not in scored]:
        print(f"The report shows an earlier scoring of {', '.join(earlier)}, not scored this time")
    for problem in _left_out(run.path):
        print(f"warning: not in the report: {problem}")
    written = scored_files(run.path, newest=True)
    if kept := [name for name in shown if name in scored and shown[name] != written[name]]:
        print(f"The report shows the full results of {', '.join(kept)}, which this run left alone")
    print(f"Report: {page.absolute().as_uri()}")


def build_report(
    run_folder: Path, *, image_root: Path | None, cache: Path, small_images: bool = False
) -> Path:
    """Writes the report of a run and returns its page; replaces one from before when it is whole.

    Args:
        image_root: what the samples' images are relative to; None if there are none here.
        cache: folder for view images, shared by the runs of a work-dir.
        small_images: show copies of at most 1600 pixels, for a report that is sent around.

    Raises:
        UserError: a samples file is of another version.
        OSError: the folder cannot be written.
    """
    target = run_folder / REPORT_FOLDER
    with replaced_folder(target) as fresh:
        for asset in sorted(ASSETS.iterdir()):
            shutil.copyfile(asset, fresh / asset.name)
        to_json = path_hider([run_folder, cache.parent, image_root, Path.cwd()])
        made = Pictures(image_root, cache, fresh, small=small_images)
        with closing(made) as pictures:
            _write_data(DataFiles(fresh / "data", to_json), pictures, run_folder, image_root)
        manifest = read_json(run_folder / MANIFEST_NAME, must_be_whole=False)
        (fresh / STAMP).write_text(stamp_of(manifest), "ascii")
    return target / "index.html"


def pictures_of_report(report: Path) -> dict[str, dict[str, Any]]:
    """What a finished report knows of its images by name: size, files below it; or nothing."""
    try:
        summary = value_of((report / "data" / "summary_0.js").read_text("ascii"))
        return {known["name"]: known for known in summary["pictures"] if "view" in known}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _left_out(run_folder: Path) -> list[str]:
    """Why the report does not show some data sets that were scored."""
    manifest = read_json(run_folder / MANIFEST_NAME, must_be_whole=False)
    problems = [files.problem(manifest) for files in scored_files(run_folder).values()]
    return [problem for problem in problems if problem is not None]


def _shown_files(run_folder: Path) -> dict[str, ScoredFiles]:
    """The data sets that a report shows: those whose files belong together."""
    manifest = read_json(run_folder / MANIFEST_NAME, must_be_whole=False)
    files = scored_files(run_folder)
    return {name: files[name] for name in files if files[name].problem(manifest) is None}


class DataFiles:
    """The data files of a report while they are written."""

    def __init__(self, folder: Path, to_json: ToJson) -> None:
        self._folder, self._to_json = folder, to_json
        self._facets = Facets(FACETS)
        self._rows = Chunks(folder, "rows", to_json, columns, ROWS_PER_FILE)
        self._details = Chunks(folder, "details", to_json, _with_text_table, DETAILS_PER_FILE)
        self._replies = Chunks(folder, "replies", to_json, columns, REPLIES_PER_FILE)

    def add(self, facts: Facts, dataset: str, picture: int | None) -> None:
        """One more sample."""
        named = {**facts, "dataset": dataset, "verdict": facts.get("verdict") or NO_ANSWER}
        named |= {"finish": facts.get("finish_reason"), "check": None}
        named |= {"error": (facts.get("error") or {}).get("class")}
        check = [self._facets.number("check", name) for name in facts.get("check") or ()]
        own = {name: facts.get(name) for name in ROW_FIELDS}
        self._rows.add(self._facets.row(named) | own | {"check": check, "picture": picture})
        self._replies.add({name: facts.get(name) for name in REPLY_FIELDS})
        self._details.add({n: each for n, each in facts.items() if n not in NOT_IN_DETAILS})

    def close(self, summary: dict[str, Any]) -> None:
        """Writes what is left, and the summary with the places of everything."""
        for chunks in (self._rows, self._details, self._replies):
            chunks.close()
            summary[chunks.name] = chunks.firsts
        summary["facets"] = self._facets.values()
        write_script(self._folder, "summary", 0, self._to_json(summary))


def _with_text_table(items: list[Facts]) -> dict[str, Any]:
    """Prompts share most of their texts; each is written once a file."""
    texts: dict[str, int] = {}
    samples = []
    for item in items:
        parts = [(part["role"], part["type"], part["value"]) for part in item.get("prompt") or ()]
        prompt = [[role, kind, texts.setdefault(text, len(texts))] for role, kind, text in parts]
        samples.append({**item, "prompt": prompt})
    return {"texts": list(texts), "samples": samples}


def _changed_images(
    digests: Mapping[str, set[str]],
    pictures: Pictures,
    entry: Mapping[str, Any],
    image_root: Path | None,
) -> list[str]:
    """Say that images of a data set are not those that the model was asked about, if that is so.

    Args:
        digests: of each image, as the model was asked about it; empty where its samples have none.
        entry: what the manifest says of the data set, with a checksum of all images together.
    """
    current = {image: pictures.digest(image) for image in digests}
    replaced = [image for image, digest in current.items() if digest and digests[image] - {digest}]
    if replaced:
        are_one = len(replaced) == 1
        what = f"{counted(len(replaced), 'image')} of this data set {'was' if are_one else 'were'}"
        since = f"replaced since the model was asked about {'it' if are_one else 'them'}"
        return [f"{what} {since}: target and click are not drawn on the new one"]
    expected = entry.get("pictures") or {}
    if image_root is None or all(digests.values()) or expected.get("count") != len(digests):
        return []
    files = {image: image_root / image for image in digests}
    is_there = all(path.is_file() for path in files.values())  # else the page says so
    if not is_there or pictures_digest(files) == expected:
        return []
    what = "images of this data set were replaced since the model was asked about them"
    return [f"{what}: boxes and clicks are drawn on what is there now"]


def _write_data(
    files: DataFiles, pictures: Pictures, run_folder: Path, image_root: Path | None
) -> None:
    manifest = without_absolute_paths(read_json(run_folder / MANIFEST_NAME, must_be_whole=False))
    entries = manifest.get("datasets") or {}
    levels: dict[str, str] = {}
    summary: dict[str, Any] = {
        "format": 2,
        "run": run_folder.name,
        "folder": run_folder.absolute().parent.name,
        "datasets": [],
        "checks": [],
    }
    totals: Counter[str] = Counter()
    images: set[int] = set()
    for scored in _shown_files(run_folder).values():
        name, level = scored.dataset, scored.level
        analysis = without_absolute_paths(read_json(scored.beside("analysis"), must_be_whole=False))
        tally, units, digests = _add_samples(
            scored, files, pictures, analysis, totals["samples"], run_folder
        )
        comparable = is_whole(entries.get(name) or {}, is_partial=scored.is_partial)
        changed = _changed_images(digests, pictures, entries.get(name) or {}, image_root)
        for line in changed:
            print(f"warning: {name}: {line}")
        summary["datasets"].append(
            {
                "name": name,
                "level": level,
                "partial": scored.is_partial,
                "first": totals["samples"],
                "samples": tally.counts["samples"],
                "pictures": len(units),
                "problems": tally.problems(level) if tally.has_score else [],
                "notices": notices_of(analysis) + changed,
                "details": tables_of(name, level, analysis),
                **scores_of(tally, analysis, level, is_comparable=comparable),
            }
        )
        summary["checks"] += checks_of(name, level, analysis)
        totals.update(tally.counts)
        if unit_of(level) == "image":
            images |= units
        else:
            totals.update(episodes=tally.counts["samples"], tasks=len(units))
        levels[name], summary["model"] = level, scored.model
    summary["samples"], summary["pictures"] = totals["samples"], pictures.all()
    totals["images"] = len(images)
    summary["facts"] = run_facts(manifest, levels, totals)
    if any(not data_set["no_score"] for data_set in summary["datasets"]):
        summary["checks"] += run_checks(totals, model_entry(manifest))
    summary["stopped"] = [
        f"{manifest['stopped'][name].get('level')} {name}: {text}"
        for name, text in stops(manifest, levels).items()
    ]
    summary["checks"].sort(key=lambda check: bool(check.pop("is_last", False)))
    files.close(summary | {"manifest": manifest or None})


def _add_samples(
    scored: ScoredFiles,
    files: DataFiles,
    pictures: Pictures,
    analysis: dict[str, Any],
    first: int,
    run_folder: Path,
) -> tuple[Tally, set[Any], dict[str, set[str]]]:
    """Adds the samples of one data set.

    Returns:
        Their tally, the images or tasks they are of, and for each image its digests.
    """
    tally, tags = Tally(scored.dataset), tags_by_sample(analysis)
    units: set[Any] = set()
    digests: dict[str, set[str]] = {}
    rotations = scored.rotations()
    for place, facts in enumerate(scored.facts()):
        turns = next(rotations, [])
        if len(turns) > 1 and turns[0]["question"] == facts["key"]:
            facts["turns"] = [{name: turn.get(name) for name in TURN_FIELDS} for turn in turns]
        if facts.get("trajectory") is not None:
            number = pictures.of_episode(facts, run_folder)
        else:
            number = pictures.number(facts.get("image"))
            if image := facts.get("image"):
                digests.setdefault(image, set()).update(filter(None, [facts.get("image_digest")]))
        check = [*tally.add(facts, first + place), *tags.get(place, ())]
        files.add({**facts, "check": check}, scored.dataset, number)
        units.add(facts.get("task") or number)
    return tally, units - {None}, digests
