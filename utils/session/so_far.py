"""The figures of a run that is going on, from its log. Nothing is written, and no lock is taken."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from utils.analysis.columns import SampleColumns
from utils.config.options import Options
from utils.contracts import Record
from utils.errors import StopRun, UserError
from utils.protocol import official_figures, why_no_score
from utils.scoring.samples import facts_of
from utils.scoring.scorer import WITHOUT_ANSWER
from utils.scoring.write import score_sections
from utils.session.evaluation import Evaluation
from utils.session.manifest_writer import marked_folders
from utils.session.prepare import BenchmarkRoom, ModelRoom, prepare
from utils.store.derived import MANIFEST_NAME, read_json
from utils.store.folder import RANK_LOG, RunFolder
from utils.store.log import LoggedRun, runs_of
from utils.store.logged_config import (
    SCORING_CONFIG,
    as_written,
    config_of_set,
    data_as_written,
    scored_with,
)
from utils.store.manifest import entry_of, on_this_machine
from utils.store.view import LogView, Selection


@dataclass(frozen=True)
class LogOfRun:
    """The log of one data set of a run, as it is now."""

    path: Path

    @cached_property
    def runs(self) -> list[LoggedRun]:
        """Its runs, the newest last; none: it is no log of a run."""
        return runs_of(self.path)

    @property
    def begin(self) -> Record:
        """The record that opens its newest run."""
        return self.runs[-1].begin

    @property
    def config(self) -> Mapping[str, Any]:
        """The config of its newest run, or of the scoring of that run; empty: it is not known."""
        config: Mapping[str, Any] = self.begin.get("config") or {}
        manifest = read_json(self.path.with_name(MANIFEST_NAME), must_be_whole=False)
        entry = (manifest.get("datasets") or {}).get(self.dataset) or {}
        is_scored = "figures" in entry and entry.get("started_at") == self.begin["started_at"]
        of_scoring = scored_with(manifest, self.dataset) if is_scored else {}
        if not of_scoring:
            return config
        path = config.get("path")
        if SCORING_CONFIG not in entry:
            path = self._path_of_config(manifest) or path
        return {**of_scoring, "path": path}

    def _path_of_config(self, manifest: Mapping[str, Any]) -> str | None:
        """The path of the config of the newest scoring; None: it is not known."""
        config = (manifest.get("scoring") or {}).get("config") or manifest.get("config") or {}
        if not config.get("path"):
            return None
        work_dir = self.path.absolute().parents[2]
        return str(on_this_machine(config["path"], marked_folders(work_dir)))

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.begin["model"])

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return str(self.begin["dataset"])


def logs_in(folder: Path) -> list[LogOfRun]:
    """Return the logs of the runs in a run's folder, by name."""
    paths = [
        path
        for path in sorted(folder.glob("*.jsonl"))
        if not path.is_symlink() and not RANK_LOG.fullmatch(path.name)
    ]
    return [log for log in map(LogOfRun, paths) if log.runs]


def logged_evaluation(
    log: LogOfRun,
    options: Options,
    benchmarks: BenchmarkRoom,
    models: ModelRoom,
    config: Mapping[str, Any],
) -> Evaluation:
    """Return the evaluation of a logged run.

    Args:
        log: of a data set.
        options: those of the command; work-dir and what is printed are taken from them.
        benchmarks: the package.
        models: the package.
        config: of the run, or of a later scoring.

    Raises:
        UserError: the config cannot be used any more.
    """
    of_set = config_of_set(config, log.model, log.dataset)
    if not of_set.get("data"):
        raise UserError(f"{log.path}: the record of its newest run holds no config")
    sections = {
        "model": {log.model: as_written(of_set["model"][log.model])},
        "data": {log.dataset: data_as_written(of_set["data"][log.dataset])},
    }
    options_of_log = replace(
        options,
        config=Path(config.get("path") or "config"),
        content=json.dumps(sections),
        data=(log.dataset,),
        model=(log.model,),
        mode="eval",
        limit=log.begin.get("limit"),
    )
    plan = prepare(options_of_log, benchmarks, models)
    return plan.evaluations[log.model][0]


def facts_so_far(evaluation: Evaluation, folder: RunFolder) -> dict[str, Any]:
    """Return a data set's facts for the manifest as if its run stopped now.

    The figures count the answers so far; without an answer there are none. They include neither a
    judge nor later rotations of a question.

    Raises:
        UserError, StopRun: the log cannot be scored.
    """
    data = evaluation.data
    benchmark, limit = data.benchmark, evaluation.options.limit
    with closing(LogView(folder.log(evaluation.dataset), None, limit)) as view:
        scorer = evaluation.scorer(skip_errors=True, run=view.run)
        columns = SampleColumns()
        for record in Selection(view, data, limit):
            columns.add(facts_of(record, scorer.judge(record), has_repeats=view.repeats > 1))
        is_part = view.is_part(data.mode, limit)
        facts = entry_of(view, benchmark.level, is_part=is_part).facts
    counts = scorer.counts
    if not counts["samples"]:
        return facts
    no_score = why_no_score(
        benchmark.level,
        counts["samples"],
        without_answer=sum(counts[kind] for kind in WITHOUT_ANSWER),
        environment_failures=counts["environment_failures"],
    )
    if no_score:
        return {**facts, "figures": {}, "no_score": no_score}
    sections, _ = score_sections(benchmark, columns, facts.get("repeats", 1))
    return {**facts, "figures": official_figures(sections)}


def figures_of_folder(
    folder: Path, options: Options, benchmarks: BenchmarkRoom, models: ModelRoom
) -> dict[str, Mapping[str, Any]]:
    """Return the facts of the data sets of a run that is going on, by name; see `facts_so_far`.

    What cannot be scored so far is left out, and said on stderr.
    """
    by_dataset: dict[str, Mapping[str, Any]] = {}
    for log in logs_in(folder):
        try:
            evaluation = logged_evaluation(log, options, benchmarks, models, log.config)
            by_dataset[log.dataset] = facts_so_far(evaluation, RunFolder(log.model, folder))
        except (UserError, StopRun) as error:
            print(f"warning: {log.path}: not scored so far ({error})", file=sys.stderr)
    return by_dataset
