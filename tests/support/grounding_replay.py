"""Replays recorded answers to the tables of grounding through the whole program.

    python -m tests.support.grounding_replay FOLDER [--keep FOLDER]

Reads the files of a folder, by what is in them: `{"files": ..., "replies": ...}` with the rows as
their authors publish them and the replies of a model, whose counts stand in `expected.json`; rows
and answers beside what the official scorer made of them (ScreenSpot-Pro and VenusBench-GD in
`<name>_input.json` and `<name>_official.json`, UI-Vision, OSWorld-G). Each is laid out with blank images, run by
`evaluate.run` with a model that gives the recorded answers, and its score and samples files are
compared. Where real replies are compared, the coordinate audit must name their frame if the parser
is left at the default. The exit status is 0 if all is equal, 1 if anything is different or fails,
2 if there is nothing to replay.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.grounding.venusbench_gd import FILES as TASK_FILES
from tests.support.grounding_compare import Comparison, compare
from tests.support.replay_results import exit_status, show
from utils.coordinates import Frame, in_frame

HERE = "tests.support.grounding_replay"
PARSE_REAL = "models.recipes.mai_ui.parse_point"
PARSE_PLAIN = f"{HERE}.parse_plain"
PARSE_FRACTIONS = f"{HERE}.parse_plain_fractions"
IMAGE_KEYS = ("img_filename", "image_path", "image")
TEXT_KEYS = ("instruction", "prompt_to_evaluate")
SIZE_KEYS = ("img_size", "image_size")
NO_ANSWER = "I cannot tell."
FEWEST_IMAGES = 30  # with fewer the coordinate audit says nothing
FILLER = "a row in place of a file that is not there"
UI_VISION_FILE = "annotations/element_grounding/element_grounding_{}.json"
PARTS = {  # files that a data set needs, all of them
    "ScreenSpot": ("screenspot_{}.json", ("mobile", "desktop", "web")),
    "ScreenSpotV2": ("screenspot_{}_v2.json", ("mobile", "desktop", "web")),
    "UIVision": (UI_VISION_FILE, ("basic", "functional", "spatial")),
}


@dataclass
class Replay:
    """One file: rows to lay out, the answers to give, and what must come of them."""

    name: str
    dataset: str
    files: dict[str, Any]
    replies: dict[str, str]  # by image and instruction
    parser: str = PARSE_PLAIN
    settings: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, Any] = field(default_factory=dict)  # by image, where rows do not say it
    expected: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


# -- the model, its prompt and its parsers --------------------------------------------------------


class Recorded:
    """A model that answers from a file; see `imp_type: custom`."""

    def __init__(self, replies: str) -> None:
        by_image = json.loads(Path(replies).read_text(encoding="utf-8"))
        self._replies = {image: dict(answers) for image, answers in by_image.items()}

    def generate(self, message: Any, *, dataset_name: str) -> str:
        """Return the recorded reply to the last image and text of a message."""
        image = next(part["value"] for part in message if part["type"] == "image")
        text = [part["value"] for part in message if part["type"] == "text"][-1]
        answers = self._replies[Path(image).name]
        if text in answers:
            return str(answers[text])
        for instruction, reply in answers.items():  # the longest first
            if instruction in text:
                return str(reply)
        raise LookupError(f"no reply for {image}: {text}")


def instruction_alone(line: dict[str, Any], dataset: str) -> list[dict[str, str]]:
    """Return a prompt by which a row can be told from all others."""
    return [
        {"role": "user", "type": "image", "value": line["image_path"]},
        {"role": "user", "type": "text", "value": line["instruction"]},
    ]


def parse_plain(response: str, meta: Mapping[str, Any]) -> Any:
    """Return the two numbers of a reply, pixels of the image, or None."""
    return _numbers(response, Frame.PIXELS, meta)


def parse_plain_fractions(response: str, meta: Mapping[str, Any]) -> Any:
    """Return the two numbers of a reply, fractions of the image, or None."""
    return _numbers(response, Frame.FRACTIONS, meta)


def _numbers(response: str, frame: Frame, meta: Mapping[str, Any]) -> Any:
    try:
        x, y = json.loads(response)
    except (ValueError, TypeError):
        return None
    return in_frame(frame, (x, y), meta)


# -- files of a folder ----------------------------------------------------------------------------


def read(path: Path) -> Any:
    """Return the content of a JSON file, which may be gzipped."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def value_of(row: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """Return the first of some keys that a row has."""
    return next((row[key] for key in keys if key in row), None)


def text_key(image: str, instruction: str) -> str:
    return f"{Path(image).name}\n{instruction}"


def replays(folder: Path) -> Iterator[Replay]:
    """Yield a replay for each data set that the files of a folder hold."""
    paths = sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    contents: dict[str, Any] = {}
    for path in paths:
        name = path.name.removesuffix(".gz").removesuffix(".json")
        contents[path.name if name in contents else name] = read(path)
    expected = contents.pop("expected", {})
    for name, content in contents.items():
        if "files" in content:
            stem = name.removesuffix(".gz").removesuffix(".json")
            yield of_real(name, content, expected.get(stem) or {})
        elif any(key.startswith("OSWorld-G") for key in content):
            yield of_osworld(name, content)
        elif any("annotations" in part for part in content.values() if isinstance(part, dict)):
            yield of_ui_vision(name, content)
        elif "annotations" in content:
            official = contents.get(name.replace("input", "official"))
            of_scorer = of_venusbench_gd if "venus" in name else of_screenspot_pro
            yield of_scorer(name, content, official)
        elif not name.endswith("official"):
            print(f"{name}: not one of these data sets; left out")
    for name in sorted({*expected} - {*contents}):
        print(f"{name}: stands in expected.json, but there is no such file")


class Answers:
    """Gives each row its answer; rows that only their image would tell apart get images."""

    def __init__(self) -> None:
        self.replies: dict[str, str] = {}
        self.sizes: dict[str, Any] = {}
        self._size_of: dict[str, Any] = {}

    def give(self, row: Mapping[str, Any], reply: str, size: Any = None) -> dict[str, Any]:
        """Return a row whose image and instruction have this reply, on an image of its size."""
        row = dict(row)
        key = next(name for name in IMAGE_KEYS if name in row)
        image, text = row[key], value_of(row, TEXT_KEYS)
        size = value_of(row, SIZE_KEYS) or size
        number = 1
        while not self._fits(row[key], text, reply, size):
            number += 1
            row[key] = str(Path(image).with_stem(f"{Path(image).stem}_{number}"))
        self.replies[text_key(row[key], text)] = reply
        self._size_of[row[key]] = size
        self.sizes[row[key]] = size
        return row

    def _fits(self, image: str, text: str, reply: str, size: Any) -> bool:
        has_reply = self.replies.get(text_key(image, text), reply) == reply
        return has_reply and self._size_of.get(image, size) == size


def of_real(name: str, content: Any, expected: Any) -> Replay:
    """Rows as published with the replies of a model."""
    replies = content.get("replies") or {}
    sizes = content["files"].get("image_sizes") or {}
    rows_of = {file: rows for file, rows in content["files"].items() if file != "image_sizes"}
    dataset, settings = data_set_of(rows_of)
    is_made_up = not replies and dataset == "UIVision"
    remarks: list[str] = []
    answers, files = Answers(), dict(rows_of)
    number, without = 0, 0
    for file, rows in rows_of.items():
        if not isinstance(rows, list):
            continue
        files[file] = []
        for row in rows:
            reply = centre_reply(row) if is_made_up else reply_to(row, file, number, replies)
            without += reply is None
            image = value_of(row, IMAGE_KEYS)
            files[file].append(answers.give(row, reply or NO_ANSWER, sizes.get(image)))
            number += 1
    if is_made_up:
        remarks.append("it has no replies: the centres of the boxes, per mille, stand for them")
        expected = {key: value for key, value in expected.items() if key == "rows"}
    elif without:
        remarks.append(f"{without} of {number} rows have no reply and count as unparsed")
    counts = {"counts": expected}
    return Replay(
        name, dataset, files, answers.replies, PARSE_REAL, settings, answers.sizes, counts, remarks
    )


def data_set_of(files: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the data set that files belong to, and its settings."""
    names = " ".join(files)
    if "L2_annotations.json" in files:
        return "GUIElementGrounding", {}
    if "OSWorld-G" in names:
        return "OSWorldG", {"instructions": "refined" if "refined" in names else "original"}
    if "element_grounding" in names:
        return "UIVision", {}
    if "screenspot_" in names:
        return "ScreenSpotV2" if "_v2" in names else "ScreenSpot", {}
    return "ScreenSpotPro", {}


def reply_to(row: Mapping[str, Any], file: str, number: int, replies: Any) -> str | None:
    """Return the reply to a row: by its number, its id, its file's platform, image and text."""
    if isinstance(replies, list):
        return replies[number] if number < len(replies) else None
    image, text = value_of(row, IMAGE_KEYS), value_of(row, TEXT_KEYS)
    part = Path(file).stem.removesuffix("_v2").rpartition("_")[2]
    keys = (row.get("id"), f"{part}:{image}:{text}", f"{image}:{text}", text)
    return next((replies[key] for key in keys if key is not None and key in replies), None)


def centre_reply(row: Mapping[str, Any]) -> str:
    """Return the centre of a box x1, y1, x2, y2 as the published model would say it."""
    (x1, y1, x2, y2), (width, height) = row["bbox"], row["image_size"]
    x, y = (round(500 * (x1 + x2) / width), round(500 * (y1 + y2) / height))
    return f'<answer>\n{{"coordinate": [{max(x, 0)},{max(y, 0)}]}}\n</answer>'


def plain_reply(answer: Any) -> str:
    return NO_ANSWER if answer is None else json.dumps(answer)


def of_osworld(name: str, content: Any) -> Replay:
    """Rows with answers in pixels, verdicts and categories."""
    files = {
        key: value
        for key, value in content.items()
        if key.startswith("OSWorld-G") or key == "classification_result.json"
    }
    _, settings = data_set_of(files)
    answers = Answers()
    for key in files:
        if key.startswith("OSWorld-G"):
            files[key] = [
                answers.give(row, plain_reply(content["answers_px"].get(row["id"])))
                for row in content[key]
            ]
    expected = {"osworld": content.get("expected") or {}}
    return Replay(
        name,
        "OSWorldG",
        files,
        answers.replies,
        settings=settings,
        sizes=answers.sizes,
        expected=expected,
    )


def of_ui_vision(name: str, content: Any) -> Replay:
    """Three splits, each with what the official scorer made of it."""
    answers = Answers()
    files: dict[str, Any] = {}
    for split, part in content.items():
        of_split = part["answers_as_fractions"]
        files[UI_VISION_FILE.format(split)] = [
            answers.give(row, plain_reply(of_split.get(row["prompt_to_evaluate"])))
            for row in part["annotations"]
        ]
    official = {split: part["official"] for split, part in content.items() if "official" in part}
    return Replay(
        name,
        "UIVision",
        files,
        answers.replies,
        PARSE_FRACTIONS,
        sizes=answers.sizes,
        expected={"ui_vision": official},
    )


def of_screenspot_pro(name: str, content: Any, official: Any) -> Replay:
    """Rows by application, and the metrics and verdicts of the official scorer."""
    answers = Answers()
    by_id = content["answers_as_fractions"]
    files = {
        f"annotations/{application}.json": [
            answers.give(row, plain_reply(by_id.get(row["id"]))) for row in rows
        ]
        for application, rows in content["annotations"].items()
    }
    remarks = [] if official else ["there are no official results beside it"]
    return Replay(
        name,
        "ScreenSpotPro",
        files,
        answers.replies,
        PARSE_FRACTIONS,
        sizes=answers.sizes,
        expected=official or {},
        remarks=remarks,
    )


def of_venusbench_gd(name: str, content: Any, official: Any) -> Replay:
    """Rows by application, dealt to the six files, and what the official scorer made of them."""
    answers = Answers()
    by_id = content["answers_as_fractions"]
    paths = [f"instruction/{names[0]}" for names in TASK_FILES.values()]
    files: dict[str, Any] = {path: [] for path in paths}
    for number, rows in enumerate(content["annotations"].values()):
        files[paths[number % len(paths)]] += [
            answers.give(row, plain_reply(by_id.get(row["id"]))) for row in rows
        ]
    return Replay(
        name,
        "VenusBenchGD",
        files,
        answers.replies,
        PARSE_FRACTIONS,
        sizes=answers.sizes,
        expected=_with_ids(official or {}),
    )


def _with_ids(official: Mapping[str, Any]) -> dict[str, Any]:
    """Name the verdicts by the id of their row, which this scorer gives as the prompt."""
    details = [
        {**item, "id": item.get("id", item["prompt_to_evaluate"])}
        for item in official.get("details", ())
    ]
    return {**official, "details": details}


# -- laying out and running -----------------------------------------------------------------------


def lay_out(replay: Replay, root: Path) -> None:
    """Write annotation files and blank images as the data set expects them."""
    from benchmarks import BENCHMARK

    benchmark = BENCHMARK[replay.dataset]
    if replay.dataset == "GUIElementGrounding":
        folder, images = root / "MMBench-GUI", root / "MMBench-GUI" / "offline_images"
    else:
        folder = root / benchmark.folder  # type: ignore[attr-defined]
        images = folder / benchmark.images  # type: ignore[attr-defined]
    blanks: dict[tuple[int, int], Path] = {}
    for file, rows in with_fillers(replay).items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        is_lines = path.suffix == ".jsonl"
        path.write_text("\n".join(map(json.dumps, rows)) if is_lines else json.dumps(rows))
        for row in rows if isinstance(rows, list) else ():
            image = value_of(row, IMAGE_KEYS)
            size = value_of(row, SIZE_KEYS) or replay.sizes.get(image) or (1000, 1000)
            lay_blank(images / image.removeprefix(f"{images.name}/"), tuple(size), blanks)


def with_fillers(replay: Replay) -> dict[str, Any]:
    """Return the files, and a file of one row for each that the data set needs beside them."""
    files = {file: rows for file, rows in replay.files.items() if rows}
    pattern, parts = PARTS.get(replay.dataset, ("", ()))
    filler = {
        **dict.fromkeys(IMAGE_KEYS, "filler.png"),
        **dict.fromkeys(TEXT_KEYS, FILLER),
        "bbox": [10, 10, 20, 20],
        **dict.fromkeys(("data_type", "element_type"), "icon"),
        **dict.fromkeys(("platform", "category"), "-"),
    }
    for part in parts:
        file = pattern.format(part)
        if file not in files:
            files[file] = [filler]
            replay.replies[text_key("filler.png", FILLER)] = NO_ANSWER
    return files


def lay_blank(path: Path, size: Any, blanks: dict[tuple[int, int], Path]) -> None:
    """Make a white image; those of one size are one file."""
    from PIL import Image

    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if size in blanks:
        os.link(blanks[size], path)
    else:
        Image.new("L", size, 255).save(path, format="PNG")
        blanks[size] = path


def write_replies(replay: Replay, path: Path) -> None:
    """Write the file that `Recorded` answers from."""
    by_image: dict[str, list[tuple[str, str]]] = {}
    for key, reply in replay.replies.items():
        image, _, instruction = key.partition("\n")
        by_image.setdefault(image, []).append((instruction, reply))
    for answers in by_image.values():  # the longest first: one text may be a part of another
        answers.sort(key=lambda answer: -len(answer[0]))
    path.write_text(json.dumps(by_image), encoding="utf-8")


def run(replay: Replay, folder: Path, *, parser: str | None) -> tuple[Any, list[Any], Any]:
    """Run a replay; return the score file, the lines of the samples file, and the analysis."""
    import evaluate

    root = folder / "data"
    if not root.exists():
        lay_out(replay, root)
    replies = folder / "replies.json"
    write_replies(replay, replies)
    entry = {**replay.settings, **({"parse_function": parser} if parser else {})}
    model = {
        "imp_type": "custom",
        "model_path": f"{HERE}.Recorded",
        "kwargs": {"replies": str(replies)},
        "custom_prompt": {replay.dataset: f"{HERE}.instruction_alone"},
    }
    config = {"model": {"recorded": model}, "data": {replay.dataset: entry}}
    path = folder / "config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    os.environ["LMUData"] = str(root)  # noqa: SIM112 - the name is the user's
    os.environ.pop("IMAGE_ROOT_DIR", None)
    results = evaluate.run(path, work_dir=str(folder / "outputs"), quiet=True)
    result = results[0]
    score = next(result.folder.glob(f"*_{replay.dataset}_score.json"))
    samples = next(result.folder.glob(f"*_{replay.dataset}_samples.jsonl"))
    _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
    lines = [line for line in lines if line["text"] != FILLER]
    return json.loads(score.read_text()), lines, result.analysis[replay.dataset]


def compared(replay: Replay, folder: Path) -> Comparison:
    """Run a replay and compare all that is known of it."""
    comparison = Comparison(f"{replay.name} ({replay.dataset})")
    comparison.remarks += replay.remarks
    score, lines, _ = run(replay, folder, parser=replay.parser)
    row_count = sum(len(rows) for rows in replay.files.values() if isinstance(rows, list))
    comparison.cell("rows of the files", len(lines), row_count)
    compare(replay.expected, score, lines, comparison)
    outcomes = Counter(line["verdict"] for line in lines)
    outcomes["declined"] = sum(line["declined"] for line in lines)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    accuracy = score.get("accuracy", score.get("Average accuracy"))
    comparison.remarks.append(f"{len(lines)} rows: {counts}; official figure {accuracy:.4f}")
    if replay.parser == PARSE_REAL:
        audit(replay, folder, lines, comparison)
    return comparison


def audit(replay: Replay, folder: Path, lines: list[Any], comparison: Comparison) -> None:
    """See that the coordinate audit names thousandths where the default parser reads the replies."""
    answered = {line["image"] for line in lines if line["point_frac"]}
    if len(answered) < FEWEST_IMAGES:
        comparison.remarks.append("too few images have an answer for the coordinate audit")
        return
    _, _, analysis = run(replay, folder, parser=None)
    section = analysis["coordinate_audit"]
    comparison.cell("what the coordinate audit says", section["best"][:1], ["per mille"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {HERE}")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where runs stay")
    options = parser.parse_args(arguments)
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    results: list[Comparison] = []
    with tempfile.TemporaryDirectory() as temporary:
        for replay in replays(options.folder):
            folder = (options.keep or Path(temporary)) / replay.name
            folder.mkdir(parents=True, exist_ok=True)
            try:
                comparison = compared(replay, folder)
            except Exception as error:  # noqa: BLE001 - it is named, and the next file goes on
                comparison = Comparison(f"{replay.name} ({replay.dataset})")
                comparison.different.append(f"failed with {type(error).__name__}: {error}")
            show(comparison)
            results.append(comparison)
    return exit_status(results, "files replayed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
