"""Builds `<run folder>/report/index.html` from the derived files of a run.

The samples are read once, one at a time; what the gallery lists goes to `data/rows_N.js`, what one
sample's view needs to `data/details_N.js` and `data/replies_N.js`, the rest to `data/summary_0.js`.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from utils.contracts import Facts
from utils.errors import one_line_reason
from utils.geometry.images import find_image, image_root
from utils.pages.checks import checks_of, notices_of, servers_of, tables_of, tags_by_sample
from utils.pages.data_files import (
    Chunks,
    SampleFiles,
    columns,
    replaced_folder,
    value_of,
    write_script,
)
from utils.pages.overview import (
    NO_ANSWER,
    Tally,
    published_of_checkpoint,
    run_checks,
    scores_of,
    shared_rows,
)
from utils.pages.pictures import CACHE_FOLDER, Pictures
from utils.pages.privacy import path_hider, without_absolute_paths
from utils.protocol import IMPORTED, MADE_ELSEWHERE, title_of, unit_of
from utils.scoring.samples import REPEAT
from utils.store.derived import MANIFEST_NAME, ScoredFiles, read_json, scored_files
from utils.store.find import is_import
from utils.store.folder import RunFolder
from utils.store.provenance import pictures_digest
from utils.store.run_facts import (
    REPORT_FOLDER,
    compares_with_published,
    images_by_recipe,
    model_entry,
    rows_note,
    run_facts,
    why_stopped,
)
from utils.store.seals import STAMP, stamp_of
from utils.text import counted, file_uri, local_time

CORE = Path(__file__).parent / "assets" / "core"  # of all pages
ASSETS = CORE.with_name("report")
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
"""Columns that the list filters by, as `FIELDS` in `store.js`."""
REPLY_FIELDS = ("prediction", "raw", "reasoning", "key")
TURN_FIELDS = ("options", "answer", "chosen", "status", "verdict", "prediction")
ROW_FIELDS = (
    "index",
    "id",
    "text",
    "box_frac",
    "target",
    "declined",
    "point_frac",
    "answer",
    "chosen",
    "answered",
    "expected",
    "image_digest",
    "episode",
)
NOT_IN_DETAILS = {*FACETS, *ROW_FIELDS, *REPLY_FIELDS, "hit", "credit", "image"} - {
    "error",
    "key",
    "id",
}


def report_after_run(
    run: RunFolder, scored: Collection[str], *, work_dir: Path, small_images: bool
) -> None:
    """Build the report of a folder in which a run has scored some data sets; print where it is.

    Scores and all other files are there already, so a failure here is one line of warning.
    """
    if not scored and not (run.path / REPORT_FOLDER).exists():
        return
    try:
        files, problems = _shown_files(run.path)
        page = build_report(
            run.path,
            image_root=image_root(),
            cache=work_dir / CACHE_FOLDER,
            small_images=small_images,
        )
    except Exception as error:  # noqa: BLE001  whatever it is, it may not cost the exit code
        reason = one_line_reason(error)
        print(f"warning: {run.path}: no report ({reason}); scores and all other files are complete")
        if (run.path / REPORT_FOLDER).exists():
            print(f"  {run.path / REPORT_FOLDER} belongs to an earlier scoring")
        return
    if not scored:  # the page from before is none of this run's, but says now why not
        return
    run.link_newest([page.parent], scored)
    earlier = [name for name in files if name not in scored]
    if earlier:
        print(
            f"The report shows an earlier scoring of {', '.join(earlier)}, which was not scored "
            "this time"
        )
    for problem in problems:
        print(f"warning: not in the report: {problem}")
    written = scored_files(run.path, newest=True)
    full = [name for name in files if name in scored and files[name] != written[name]]
    if full:
        print(
            f"The report shows the full results of {', '.join(full)}, which this run did not change"
        )
    print(f"Report: {file_uri(page)}")


def build_report(
    run_folder: Path, *, image_root: Path | None, cache: Path, small_images: bool = False
) -> Path:
    """Write the report of a run and return its page; it replaces one from before when it is whole.

    Args:
        run_folder: with the scores, samples and analyses of the run.
        image_root: what the samples' images are relative to; None if there are none here.
        cache: folder for view images, shared by the runs of a work-dir.
        small_images: show copies of at most 1600 pixels, for a report that is sent around.

    Raises:
        UserError: a samples file is of another version.
        OSError: the folder cannot be written.
    """
    target = run_folder / REPORT_FOLDER
    with replaced_folder(target) as fresh:
        for asset in (*CORE.iterdir(), *ASSETS.iterdir()):
            shutil.copyfile(asset, fresh / asset.name)
        to_json = path_hider([run_folder, cache.parent, image_root, Path.cwd()])
        data = fresh / "data"
        files = SampleFiles(
            FACETS,
            Chunks(data, "rows", to_json, columns, ROWS_PER_FILE),
            Chunks(data, "details", to_json, _with_text_table, DETAILS_PER_FILE),
            Chunks(data, "replies", to_json, columns, REPLIES_PER_FILE),
        )
        manifest = read_json(run_folder / MANIFEST_NAME, must_be_whole=False)
        with closing(Pictures(image_root, cache, fresh, small=small_images)) as pictures:
            report = _ReportData(run_folder, image_root, manifest, files, pictures)
            summary = report.summary()
        rows, details, replies = files.close()
        summary |= {"rows": rows, "details": details, "replies": replies, "facets": files.facets()}
        write_script(data, "summary", 0, to_json(summary))
        (fresh / STAMP).write_text(stamp_of(manifest), "ascii")
    return target / "index.html"


def pictures_of_report(report: Path) -> dict[str, dict[str, Any]]:
    """The entries of a finished report on its images, by name; empty without a report."""
    try:
        summary = value_of((report / "data" / "summary_0.js").read_text("ascii"))
        return {image["name"]: image for image in summary["pictures"] if "view" in image}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def shown_target(facts: Facts) -> dict[str, Any]:
    """The target of a sample that pages draw; None where there is none.

    For a recorded step, it is the area that the rule of the score accepts. A click inside a box
    that the rule ignores says nothing about the verdict.
    """
    if "step" not in facts:
        return {name: facts.get(name) for name in ("box_frac", "target")}
    return {"box_frac": None, "target": area_of(facts["step"]["rules"][0])}


def area_of(rule: Sequence[Any]) -> dict[str, Any] | None:
    """The area that a rule accepts at a step; older samples files have none."""
    _name, _verdict, *area = rule
    return area[0] if area else None


def _row_of_step(facts: Facts) -> dict[str, Any] | None:
    """The list's values for a recorded step; None for other samples."""
    step = facts.get("step")
    if step is None:
        return None
    return {"answer": step["answer"], "doubts": step.get("doubts") or []}


def _shown_files(run_folder: Path) -> tuple[dict[str, ScoredFiles], list[str]]:
    """Return the data sets whose files are of one scoring, and why others are not shown."""
    manifest = read_json(run_folder / MANIFEST_NAME, must_be_whole=False)
    files = scored_files(run_folder)
    problems = {name: files[name].problem(manifest) for name in files}
    readable = {name: files[name] for name in files if problems[name] is None}
    return readable, [problem for problem in problems.values() if problem is not None]


def _with_text_table(items: list[Facts]) -> dict[str, Any]:
    """Return samples with each text of their prompts written once, as they share most of them."""
    texts: dict[str, int] = {}
    samples: list[Facts] = []
    for item in items:
        prompt = [
            [part["role"], part["type"], texts.setdefault(part["value"], len(texts))]
            for part in item.get("prompt") or ()
        ]
        samples.append({**item, "prompt": prompt})
    return {"texts": list(texts), "samples": samples}


class _ReportData:
    """Reads the results of a run, one data set after another, and writes its samples."""

    def __init__(
        self,
        run_folder: Path,
        image_root: Path | None,
        manifest: Mapping[str, Any],
        files: SampleFiles,
        pictures: Pictures,
    ) -> None:
        self._manifest = without_absolute_paths(manifest)
        self._entries: Mapping[str, Any] = self._manifest.get("datasets") or {}
        has_repeats = any("repeats" in entry for entry in self._entries.values())
        self._row_fields = (*ROW_FIELDS, REPEAT) if has_repeats else ROW_FIELDS
        self._run_folder = run_folder
        self._image_root = image_root
        self._files = files
        self._pictures = pictures
        self._totals: Counter[str] = Counter()
        self._images: set[Any] = set()
        self._levels: dict[str, str] = {}
        self._tallies: list[Tally] = []

    @property
    def _is_imported(self) -> bool:
        return IMPORTED in self._manifest or is_import(self._run_folder)

    def summary(self) -> dict[str, Any]:
        """Write all samples; return what the report says of the run."""
        model = None
        datasets: list[dict[str, Any]] = []
        checks: list[dict[str, Any]] = []
        analyses: list[tuple[str, dict[str, Any]]] = []
        for scored in _shown_files(self._run_folder)[0].values():
            analysis_file = scored.beside("analysis")
            analysis = without_absolute_paths(read_json(analysis_file, must_be_whole=False))
            datasets.append(self._add_dataset(scored, analysis))
            checks += checks_of(scored.dataset, scored.level, analysis)
            analyses.append((scored.level, analysis))
            model = scored.model
        for dataset, tally in zip(datasets, self._tallies, strict=True):
            shared = shared_rows(tally, self._tallies)
            dataset["terms"] += [shared] if shared else []
        self._totals["images"] = len(self._images)
        if any(not dataset["no_score"] for dataset in datasets):
            run_wide = run_checks(
                self._totals,
                model_entry(self._manifest),
                self._tallies,
                images_by_recipe(self._manifest),
            )
            # Of answers made elsewhere nobody knows how they were asked: only findings stand.
            checks += [check for check in run_wide if check["findings"] or not self._is_imported]
        checks.sort(key=lambda check: bool(check.pop("is_last", False)))
        stopped = [
            f"{title_of(str(self._manifest['stopped'][name].get('level')), name)}: {reason}"
            for name, reason in why_stopped(self._manifest, self._levels).items()
        ]
        servers, lost_servers = servers_of(analyses)
        return {
            "run": self._run_folder.name + (f" · {MADE_ELSEWHERE}" if self._is_imported else ""),
            "folder": self._run_folder.absolute().parent.name,
            "model": model,
            "datasets": datasets,
            "checks": checks,
            "samples": self._totals["samples"],
            "pictures": self._pictures.all(),
            "facts": run_facts(self._manifest, self._levels, self._totals),
            "stopped": stopped,
            "servers": servers,
            "lost_servers": lost_servers,
            "manifest": self._manifest or None,
        }

    def _add_dataset(self, scored: ScoredFiles, analysis: dict[str, Any]) -> dict[str, Any]:
        """Write the samples of a data set; return what the overview shows of it."""
        name, level = scored.dataset, scored.level
        entry = self._entries.get(name) or {}
        first = self._totals["samples"]
        tally = self._add_samples(scored, analysis)
        replaced = self._replaced_images(tally.digests, entry)
        for line in replaced:
            print(f"warning: {name}: {line}")
        self._tallies.append(tally)
        self._totals.update(tally.counts)
        if unit_of(level) == "image":
            self._images |= tally.units
            self._totals["questions"] += tally.questions
        else:
            self._totals.update(episodes=tally.counts["samples"], tasks=len(tally.units))
        self._levels[name] = level
        is_comparable = compares_with_published(entry, is_partial=scored.is_partial)
        rows = rows_note(entry)
        if rows:
            rows = (
                f"{rows} of the published files: its scores cannot be compared with published ones"
            )
        return {
            "name": name,
            "level": level,
            "partial": scored.is_partial,
            "protocol": entry.get("protocol"),
            "first": first,
            "samples": tally.counts["samples"],
            "questions": tally.questions,
            "pictures": len(tally.episodes or tally.units),
            "problems": [] if tally.why_no_score(level) else tally.problems(level),
            "notices": notices_of(analysis) + replaced + ([rows] if rows else []),
            "details": tables_of(name, level, analysis),
            "rules": analysis.get("rule_words"),
            "split_name": (analysis.get("table") or {}).get("split_name"),
            "beside": published_of_checkpoint(entry.get("published")),
            **scores_of(tally, analysis, level, is_comparable=is_comparable),
        }

    def _add_samples(self, scored: ScoredFiles, analysis: dict[str, Any]) -> Tally:
        """Write the samples of a data set, one at a time; return what they add up to."""
        tally = Tally(scored.dataset)
        tags = tags_by_sample(analysis)
        first = self._totals["samples"]
        rotations = scored.rotations()
        is_split_by_kind = (analysis.get("table") or {}).get("split_name") == "kind"
        for number, facts in enumerate(scored.facts()):
            if is_split_by_kind:  # each label is shown once
                facts["kind"] = None
            turns = next(rotations, [])
            if len(turns) > 1 and turns[0]["question"] == facts["key"]:
                facts["turns"] = [{name: turn.get(name) for name in TURN_FIELDS} for turn in turns]
            if facts.get("trajectory") is not None:
                picture = self._pictures.of_episode(facts, self._run_folder)
            else:
                picture = self._pictures.number(facts.get("image"))
            checks = [*tally.add(facts, first + number), *tags.get(number, ())]
            self._add_sample(facts, scored.dataset, picture, checks)
        return tally

    def _add_sample(
        self, facts: Facts, dataset: str, picture: int | None, checks: Collection[str]
    ) -> None:
        """Write a sample.

        Args:
            facts: as the samples file has them.
            dataset: that it is of.
            picture: number of its image; None without one.
            checks: those that name it.
        """
        facets = {
            **facts,
            "dataset": dataset,
            "verdict": facts.get("verdict") or NO_ANSWER,
            "finish": facts.get("finish_reason"),
            "error": (facts.get("error") or {}).get("class"),
        }
        row = {name: facts.get(name) for name in self._row_fields}
        row |= shown_target(facts)
        row["step"] = _row_of_step(facts)
        row["check"] = [self._files.number("check", name) for name in checks]
        row["picture"] = picture
        replies = {name: facts.get(name) for name in REPLY_FIELDS}
        details = {name: value for name, value in facts.items() if name not in NOT_IN_DETAILS}
        if facts.get("asked_at"):
            details["asked_at"] = local_time(facts["asked_at"], "%Y-%m-%d %H:%M:%S")
        self._files.add(facets, row, details, replies)

    def _replaced_images(
        self, digests: Mapping[str, set[str]], entry: Mapping[str, Any]
    ) -> list[str]:
        """Say that images of a data set were replaced since the model was asked, if so.

        Args:
            digests: of each image; empty where its samples, of older logs, have none.
            entry: what the manifest says of the data set, with a checksum of all images together.
        """
        replaced = 0
        for image, digests_asked in digests.items():
            current = self._pictures.digest(image)
            replaced += bool(current and digests_asked - {current})
        if replaced:
            were = "was" if replaced == 1 else "were"
            them = "it" if replaced == 1 else "them"
            return [
                f"{counted(replaced, 'image')} of this data set {were} replaced since the model "
                f"saw {them}: target and click are not drawn on the new one"
            ]
        expected = entry.get("pictures") or {}
        root = self._image_root
        if root is None or all(digests.values()) or expected.get("count") != len(digests):
            return []
        files = {image: find_image(root, image) for image in digests}
        are_there = all(path.is_file() for path in files.values())  # else the page says so
        if not are_there or pictures_digest(files) == expected:
            return []
        return [
            "images of this data set were replaced since the model saw them: boxes and clicks are "
            "drawn on the new images"
        ]
