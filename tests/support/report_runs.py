"""Run folders with samples, analyses and pictures as a run leaves them, without a run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tests.support.stage import L1, L2
from utils.contracts import Facts
from utils.store.derived import SAMPLES_FORMAT
from utils.store.strict_json import to_json

LEVELS = {L1: "L1", L2: "L2"}
PLATFORMS = ("os_windows", "os_mac", "os_linux", "os_ios", "os_android", "os_web")
SYSTEM = "You are a GUI agent. You are given a task and a screenshot of the screen."


def l2_sample(number: int, image: str = "os_web/pic0.png", **changes: Any) -> Facts:
    """A miss to the right of the target on a picture of 400x300, unless told otherwise."""
    text = changes.get("text", f"Click on element {number}.")
    facts: Facts = {
        "key": f"k{number:08x}",
        "index": number,
        "image": image,
        "platform": image.partition("/")[0],
        "app": "Shop",
        "split": "basic",
        "kind": "icon",
        "text": text,
        "box_frac": [0.1, 0.2, 0.3, 0.4],
        "point_frac": [0.5, 0.3],
        "status": "ok",
        "verdict": "miss",
        "hit": 0,
        "prediction": "(0.5, 0.3)",
        "prompt": [
            {"role": "system", "type": "text", "value": SYSTEM},
            {"role": "user", "type": "image", "value": ""},
            {"role": "user", "type": "text", "value": f"Which element matches: {text}"},
        ],
        "file_wh": [400, 300],
        "sent_wh": [400, 300],
        "seen_wh": None,
        "error": None,
        "fingerprint": "f" * 32,
        "usage": {"prompt_tokens": 1204, "completion_tokens": 12},
        "latency_s": 1.25,
        "attempts": 1,
        "finish_reason": "stop",
        "asked_at": "2026-01-02T03:04:05+00:00",
    }
    facts.update(changes)
    facts["hit"] = int(facts["verdict"] == "hit")
    return facts


def l1_sample(number: int, image: str = "os_web/pic0.png", **changes: Any) -> Facts:
    """A question whose right answer is B and whose chosen one is C, unless told otherwise."""
    l1_facts = {"text": f"Question {number}?", "split": "easy", "kind": None}
    facts = l2_sample(number, image, **{**l1_facts, **changes})
    del facts["box_frac"], facts["point_frac"]
    options = {"A": "the first", "B": "the second", "C": "the third", "D": None}
    return {**facts, "options": options, "answer": "B", "chosen": "C", "prediction": "C", **changes}


def write_samples(
    folder: Path, dataset: str, samples: Iterable[Facts], *, partial: bool = False, model: str = "m"
) -> Path:
    """The samples file of a data set."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model}_{dataset}_samples{'_partial' if partial else ''}.jsonl"
    head = {"dataset": dataset, "level": LEVELS[dataset], "model": model, "partial": partial}
    with path.open("w", encoding="ascii") as file:
        first = {"kind": "head", "format": SAMPLES_FORMAT, **head}
        file.writelines(to_json(line) + "\n" for line in chain([first], samples))
    return path


def write_rotations(samples: Path, questions: Sequence[Facts]) -> None:
    """The rotations file beside a samples file of L1: each question with its options moved on."""
    head, *_ = samples.read_text("ascii").splitlines()
    with samples.with_name(samples.name.replace("_samples", "_rotations")).open("w") as file:
        file.write(head + "\n")
        for facts in questions:
            letters = [letter for letter, text in facts["options"].items() if text is not None]
            for turn in range(len(letters)):
                moved = letters[turn:] + letters[:turn]
                options = {to: facts["options"][by] for to, by in zip(letters, moved, strict=True)}
                answer = letters[moved.index(facts["answer"])]
                hit = "hit" if answer == facts["chosen"] else "miss"
                rotation_facts = {
                    "question": facts["key"],
                    "rotation": turn,
                    "rotations": len(letters),
                }
                file.write(
                    to_json(
                        {
                            **facts,
                            **rotation_facts,
                            "options": options,
                            "answer": answer,
                            "verdict": hit,
                        }
                    )
                    + "\n"
                )


def write_analysis(
    folder: Path, dataset: str, sections: Mapping[str, Any], *, model: str = "m"
) -> None:
    """The analysis beside it."""
    path = folder / f"{model}_{dataset}_analysis.json"
    path.write_text(json.dumps({"head": {}, **sections}), encoding="utf-8")


def cell(value: float | None, samples: int = 40, pictures: int = 20) -> dict[str, Any]:
    """A value with an interval as the analysis writes it."""
    low = high = None
    if value is not None and pictures >= 10:
        low, high = max(0.0, value - 9.5), min(100.0, value + 8.1)
    return {"value": value, "low": low, "high": high, "samples": samples, "pictures": pictures}


def make_pictures(root: Path, names: Sequence[str], wh: tuple[int, int] = (400, 300)) -> Path:
    """Small pictures that differ from each other."""
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        picture = Image.new("RGB", wh, (235, 235, 220 - number % 100))
        ImageDraw.Draw(picture).rectangle((40, 60, 120, 120), fill=(20, 90, number % 250))
        picture.save(root / name)
    return root


def many_samples(
    count: int, images: Sequence[str], *, seed: int = 7, wh: Sequence[int] = (400, 300)
) -> Iterator[Facts]:
    """L2 samples of every platform, split, type, verdict and status, in proportions of a run."""
    rng = random.Random(seed)
    for number in range(count):
        x, y = rng.random() * 0.9, rng.random() * 0.9
        width, height = 0.01 + 0.05 * rng.random(), 0.01 + 0.05 * rng.random()
        verdict = rng.choices(["hit", "miss", "unparsed", None], [60, 33, 5, 2])[0]
        hit = verdict == "hit"
        point = [x + width / 2, y + height / 2] if hit else [rng.random(), rng.random()]
        yield l2_sample(
            number,
            images[number % len(images)],
            file_wh=list(wh),
            sent_wh=list(wh),
            box_frac=[x, y, x + width, y + height],
            point_frac=point if verdict in ("hit", "miss") else None,
            verdict=verdict,
            status="ok" if verdict else rng.choice(["failed", "refused"]),
            split=rng.choice(["basic", "advanced"]),
            kind=rng.choice(["icon", "text"]),
            app=f"App {number % 60}",
            latency_s=round(rng.lognormvariate(0, 0.6), 4),
            text=f"Open the entry {number} that was changed after the {rng.choice(['meeting', 'upload', 'release'])}",
            prediction=f"Thought: the entry is in the list.\nAction: click({point[0]:.4f}, {point[1]:.4f})"
            if verdict
            else None,
            error=None if verdict else {"class": "timeout", "message": "no answer within 600 s"},
        )


def analysis_of_l2(columns: Sequence[str] = PLATFORMS) -> dict[str, Any]:
    """Every section that an L2 analysis may have."""
    rows = [("basic", 71.4), ("advanced", 48.2), ("average", 59.8)]
    return {
        "table": {
            "title": "L2 GUIElementGrounding",
            "columns": [*columns, "Overall"],
            "rows": [
                {
                    "name": name,
                    "cells": [cell(value + 3 * index) for index in range(len(columns))]
                    + [cell(value, 420, 210)],
                }
                for name, value in rows
            ],
        },
        "chance": {"meaning": "a blind click", "basic": 0.8, "advanced": 0.7, "average": 0.75},
        "averages": {
            "micro": cell(60.1, 7000, 1200),
            "macro by platform": cell(58.8, 7000, 1200),
            "Average accuracy": cell(59.8, 7000, 1200),
        },
        "groups": {
            "platform": {name: cell(40.0 + 7 * index) for index, name in enumerate(columns)},
            "split": {"basic": cell(71.4), "advanced": cell(48.2)},
            "kind": {"icon": cell(52.3), "text": cell(68.0)},
            "target size": {
                "under 16 px": cell(11.0, 8, 6),
                "16 to 32 px": cell(44.1),
                "over 32 px": cell(77.7),
            },
        },
        "coordinate_audit": {
            "title": "Coordinate audit",
            "rows": [
                {
                    "name": "as configured",
                    **cell(60.1),
                    "lead": 0.0,
                    "p (Holm)": None,
                    "parse function": "",
                },
                {
                    "name": "per mille",
                    **cell(12.0),
                    "lead": -48.1,
                    "p (Holm)": None,
                    "parse function": "utils.coordinates.parse_per_mille",
                },
            ],
            "notes": ["Lead: percentage points above your parse function, on the same replies."],
            "findings": [
                {
                    "code": "coordinate_audit.other_frame",
                    "severity": "warning",
                    "summary": "read as per mille, the 10 replies with coordinates score 80.0 %",
                    "row": "per mille",
                }
            ],
            "counts": {"answered": 6860},
        },
        "anatomy": {
            "title": "Where the misses are",
            "rows": [{"name": "within one target size", "share": 31.2, "samples": 700}],
            "notes": [],
        },
    }
