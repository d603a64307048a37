"""Finished runs for comparisons: samples, scores, analysis and manifest, made from a list of facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.figures import grounding_sections, option_sections
from benchmarks.matrics import OptionResult, score_content_understanding, score_element_grounding
from tests.support.clicks import columns_of
from tests.support.report_runs import L1, L2, l1_sample, l2_sample, write_samples
from tests.support.runs import Finished, environment, run_process
from tests.support.stage import SCORES
from utils.findings import Finding, as_json
from utils.store.log import RunLog
from utils.store.records import run_record

Facts = dict[str, Any]


def l2_set(hits: str, pictures: int = 6, **changes: Any) -> list[Facts]:
    """One sample for each letter: `x` a hit, `.` a miss; platforms and splits take turns."""
    return [
        l2_sample(
            number,
            image,
            verdict=verdict,
            split=("basic", "advanced")[number % 2],
            prediction=f"reply {number} {mark}",
            text=f"Click target {number}.",
            **changes,
        )
        for number, mark, verdict, image in _marked(hits, pictures)
    ]


def l1_set(hits: str, pictures: int = 6, **changes: Any) -> list[Facts]:
    """The same for questions; difficulties take turns."""
    letters = {"hit": "B", "miss": "C"}
    return [
        l1_sample(
            number,
            image,
            verdict=verdict,
            split=("easy", "medium", "hard")[number % 3],
            chosen=letters[verdict],
            prediction=letters[verdict],
            **changes,
        )
        for number, _, verdict, image in _marked(hits, pictures)
    ]


def _marked(hits: str, pictures: int) -> Iterator[tuple[int, str, str, str]]:
    """Number, mark, verdict and image of each sample."""
    for number, mark in enumerate(hits):
        picture = number % pictures
        image = f"{('os_web', 'os_ios')[picture % 2]}/pic{picture}.png"
        yield number, mark, "hit" if mark == "x" else "miss", image


def make_run(
    folder: Path,
    sets: Mapping[str, Sequence[Facts]],
    *,
    model: str = "m",
    partial: bool = False,
    weighted: bool = False,
    tables: Mapping[str, Any] | None = None,
    findings: Mapping[str, Sequence[Finding]] | None = None,
    manifest: Mapping[str, Any] | None = None,
    seq: int = 1,
) -> Path:
    """A run's folder as a run leaves it.

    Args:
        sets: facts by data set.
        tables: "table" sections of the analyses, by data set; else those of the samples.
        findings: those of audits, by name of the section; every data set has them.
        seq: the run's place among those of its model.
    """
    end = f"{'_partial' if partial else ''}.json"
    for dataset, samples in sets.items():
        write_samples(folder, dataset, samples, partial=partial, model=model)
        scores, sections = scored(dataset, samples, weighted=weighted)
        if dataset in (tables or {}):
            sections["table"] = tables[dataset]
        for name, of_section in (findings or {}).items():
            sections[name] = as_json({"findings": of_section})
        (folder / f"{model}_{dataset}_{SCORES[dataset]}{end}").write_text(json.dumps(scores))
        (folder / f"{model}_{dataset}_analysis{end}").write_text(json.dumps(sections))
        write_log(folder, dataset, model=model, seq=seq)
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def write_log(folder: Path, dataset: str, *, model: str = "m", seq: int = 1) -> None:
    """A log with one run and no answers."""
    with closing(RunLog(folder / f"{model}_{dataset}.jsonl")) as log:
        log.append(
            run_record(
                seq,
                model=model,
                dataset=dataset,
                mode="all",
                limit=None,
                samples=[],
                bad=[],
                asking={},
            )
        )


def scored(dataset: str, samples: Sequence[Facts], *, weighted: bool) -> tuple[Facts, Facts]:
    """The score object of these samples, and the sections of their analysis that hold scores."""
    columns = columns_of(samples)
    if dataset == L1:
        rows = [
            OptionResult(s["split"], s["platform"], bool(s["hit"]), len(s["options"]))
            for s in samples
        ]
        scores = score_content_understanding(rows, weighted=weighted)
        return scores, option_sections(columns, "L1", weighted=weighted)
    counted: dict[str, dict[str, dict[str, list[int]]]] = {}
    for s in samples:
        kinds = counted.setdefault(s["split"], {}).setdefault(s["platform"], {})
        kinds.setdefault(s["kind"], []).append(s["hit"])
    return score_element_grounding(counted), grounding_sections(columns, "L2")


def compare(*arguments: str | Path, cwd: Path) -> Finished:
    """Runs `python compare.py ...` to its end."""
    return run_process("compare.py", *arguments, cwd=cwd, env=environment())


__all__ = ["L1", "L2", "compare", "l1_set", "l2_sample", "l2_set", "make_run", "write_log"]
