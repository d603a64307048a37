"""Replays recorded answers to the tables of grounding through the whole program.

    python -m tests.support.grounding_replay FOLDER [--keep FOLDER]

Reads the files of a folder, by what is in them: `{"files": ..., "replies": ...}` with the rows as
their authors publish them and the replies of a model, whose counts stand in `expected.json`; rows
and answers beside what the official scorer made of them (ScreenSpot-Pro in `<name>_input.json` and
`<name>_official.json`, UI-Vision, OSWorld-G). Each is laid out with blank images, run by
`evaluate.run` with a model that gives the recorded answers, and its score and samples files are
compared. The exit status is 1 if anything is different.
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

PARSE_REAL = "models.recipes.mai_ui.parse_point"
PARSE_PLAIN = "tests.support.grounding_replay.parse_plain"
IMAGE_KEYS = ("img_filename", "image_path")
TEXT_KEYS = ("instruction", "prompt_to_evaluate")
SIZE_KEYS = ("img_size", "image_size")
NO_ANSWER = "I cannot tell."


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


# -- the model and its parser ---------------------------------------------------------------------


class Recorded:
    """A model that answers from a file; see `imp_type: custom`."""

    def __init__(self, replies: str) -> None:
        self._replies = json.loads(Path(replies).read_text(encoding="utf-8"))

    def generate(self, message: Any, *, dataset_name: str) -> str:
        """Return the recorded reply to the last image and text of a message."""
        image = next(part["value"] for part in message if part["type"] == "image")
        text = [part["value"] for part in message if part["type"] == "text"][-1]
        for instruction, reply in self._replies[Path(image).name]:
            if instruction in text:
                return str(reply)
        raise LookupError(f"no reply for {image}: {text}")


def parse_plain(response: str) -> Any:
    """Return the two numbers of a reply as they stand, or None."""
    try:
        return json.loads(response)
    except ValueError:
        return None


# -- files of a folder ----------------------------------------------------------------------------


def read(path: Path) -> Any:
    """Return what a JSON file holds, unpacked if need be."""
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
    expected = read(folder / "expected.json") if (folder / "expected.json").is_file() else {}
    for path in paths:
        name = path.name.removesuffix(".gz").removesuffix(".json")
        content = read(path)
        if "files" in content:
            replay = of_real(name, content, expected.get(name) or {})
            if replay is not None:
                yield replay
        elif "OSWorld-G.json" in content:
            yield of_osworld(name, content)
        elif "basic" in content and "official" in content["basic"]:
            yield of_ui_vision(name, content)
        elif name.startswith("sspro") and "answers_as_fractions" in content:
            official = read(path.with_name(path.name.replace("input", "official")))
            yield of_screenspot_pro(name, content, official)
        elif name != "expected" and not name.endswith("official"):
            print(f"{name}: not one of these data sets; left out")
        elif name.startswith("venusbench"):
            print(f"{name}: no data set of the program; left out")


def of_real(name: str, content: Any, expected: Any) -> Replay | None:
    """Rows as published with the replies of a model."""
    files, replies = content["files"], content["replies"]
    if not replies:
        print(f"{name}: has no replies; left out")
        return None
    names = " ".join(files)
    settings: dict[str, Any] = {}
    if "L2_annotations.json" in files:
        dataset = "GUIElementGrounding"
    elif "OSWorld-G" in names:
        dataset = "OSWorldG"
        settings["instructions"] = "refined" if "refined" in names else "original"
    elif "element_grounding" in names:
        dataset = "UIVision"
    elif "screenspot_web" in names:
        dataset = "ScreenSpotV2" if "_v2" in names else "ScreenSpot"
    else:
        dataset = "ScreenSpotPro"
    by_text: dict[str, str] = {}
    number = 0
    for file, rows in files.items():
        if not isinstance(rows, list):
            continue
        for row in rows:
            image, text = value_of(row, IMAGE_KEYS), value_of(row, TEXT_KEYS)
            if isinstance(replies, list):
                reply = replies[number]
            else:
                platform = file.split("_")[1] if dataset.startswith("ScreenSpotV2") else ""
                keys = (row.get("id"), f"{platform}:{image}:{text}")
                reply = next((replies[key] for key in keys if key in replies), NO_ANSWER)
            by_text[text_key(image, text)] = reply
            number += 1
    sizes = files.get("image_sizes") or {}
    rows_of = {file: rows for file, rows in files.items() if file != "image_sizes"}
    return Replay(
        name, dataset, rows_of, by_text, PARSE_REAL, settings, sizes, {"counts": expected}
    )


def plain_reply(answer: Any) -> str:
    return NO_ANSWER if answer is None else json.dumps(answer)


def of_osworld(name: str, content: Any) -> Replay:
    """Rows with answers in pixels, verdicts and categories."""
    rows = content["OSWorld-G.json"]
    answers = content["answers_px"]
    replies = {
        text_key(row["image_path"], row["instruction"]): plain_reply(answers.get(row["id"]))
        for row in rows
    }
    files = {"OSWorld-G.json": rows}
    if "classification_result.json" in content:
        files["classification_result.json"] = content["classification_result.json"]
    return Replay(name, "OSWorldG", files, replies, expected={"osworld": content["expected"]})


def of_ui_vision(name: str, content: Any) -> Replay:
    """Three splits, each with what the official scorer made of it."""
    files, replies = {}, {}
    for split, part in content.items():
        files[f"annotations/element_grounding/element_grounding_{split}.json"] = part["annotations"]
        answers = part["answers_as_fractions"]
        for row in part["annotations"]:
            text = row["prompt_to_evaluate"]
            replies[text_key(row["image_path"], text)] = plain_reply(answers.get(text))
    official = {split: part["official"] for split, part in content.items()}
    return Replay(name, "UIVision", files, replies, expected={"ui_vision": official})


def of_screenspot_pro(name: str, content: Any, official: Any) -> Replay:
    """Rows by application, and the metrics of the official scorer."""
    files, replies = {}, {}
    answers = content["answers_as_fractions"]
    for application, rows in content["annotations"].items():
        files[f"annotations/{application}.json"] = rows
        for row in rows:
            key = text_key(row["img_filename"], row["instruction"])
            replies[key] = plain_reply(answers.get(row["id"]))
    return Replay(name, "ScreenSpotPro", files, replies, expected={"metrics": official["metrics"]})


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
    for file, rows in complete(replay).items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows))
        for row in rows if isinstance(rows, list) else ():
            image = value_of(row, IMAGE_KEYS)
            size = value_of(row, SIZE_KEYS) or replay.sizes.get(image) or (1000, 1000)
            lay_blank(images / image, tuple(size), blanks)


def complete(replay: Replay) -> dict[str, Any]:
    """Return the files; rows of one image that name several sizes get an image for each size."""
    sizes: dict[str, tuple[int, ...]] = {}
    files: dict[str, Any] = {}
    for file, rows in replay.files.items():
        if not isinstance(rows, list):
            files[file] = rows
            continue
        files[file] = [dict(row) for row in rows]
        for row in files[file]:
            key = next(key for key in IMAGE_KEYS if key in row)
            size = value_of(row, SIZE_KEYS)
            if size is None:
                continue
            image = row[key]
            if sizes.setdefault(image, tuple(size)) != tuple(size):
                text = value_of(row, TEXT_KEYS)
                other = f"{Path(image).stem}_{size[0]}x{size[1]}.png"
                row[key] = str(Path(image).with_name(other))
                replay.replies[text_key(other, text)] = replay.replies[text_key(image, text)]
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


def run(replay: Replay, folder: Path, *, parser: str | None) -> tuple[Any, list[Any], Any]:
    """Run a replay; return the score file, the lines of the samples file, and the analysis."""
    import evaluate

    root = folder / "data"
    if not root.exists():
        lay_out(replay, root)
    by_image: dict[str, list[tuple[str, str]]] = {}
    for key, reply in replay.replies.items():
        image, _, instruction = key.partition("\n")
        by_image.setdefault(image, []).append((instruction, reply))
    for answers in by_image.values():  # the longest first: one text may be a part of another
        answers.sort(key=lambda answer: -len(answer[0]))
    replies = folder / "replies.json"
    replies.write_text(json.dumps(by_image))
    entry = {**replay.settings, **({"parse_function": parser} if parser else {})}
    config = {
        "model": {
            "recorded": {
                "imp_type": "custom",
                "model_path": "tests.support.grounding_replay.Recorded",
                "kwargs": {"replies": str(replies)},
            }
        },
        "data": {replay.dataset: entry},
    }
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    os.environ["LMUData"] = str(root)  # noqa: SIM112 - the name is the user's
    os.environ.pop("IMAGE_ROOT_DIR", None)
    work_dir = folder / "outputs"
    results = evaluate.run(path, work_dir=str(work_dir))
    result = results[0]
    score = next(result.folder.glob(f"*_{replay.dataset}_score.json"))
    samples = next(result.folder.glob(f"*_{replay.dataset}_samples.jsonl"))
    _, *lines = map(json.loads, samples.read_text(encoding="utf-8").splitlines())
    return json.loads(score.read_text()), lines, result.analysis[replay.dataset]


# -- comparing ------------------------------------------------------------------------------------


class Comparison:
    """Counts cells that are equal, and names those that are not."""

    def __init__(self, name: str) -> None:
        self.name, self.equal, self.different = name, 0, list[str]()

    def cell(self, where: str, ours: Any, theirs: Any) -> None:
        """Compare one cell; numbers to nine places."""
        is_equal = ours == theirs
        if isinstance(ours, float) and isinstance(theirs, (int, float)):
            is_equal = abs(ours - theirs) < 1e-9
        self.equal += is_equal
        if not is_equal:
            self.different.append(f"{where}: {ours!r}, expected {theirs!r}")

    def block(self, where: str, ours: Any, official: Mapping[str, Any]) -> None:
        """Compare a block of the official metrics; shares there are of 1, and 0 of nothing."""
        if ours is None:
            self.cell(where, None, "a block")
            return
        pairs = {
            "num_correct_action": ours["num_correct"],
            "num_total": ours["num_total"],
            "wrong_format_num": ours["num_wrong_format"],
            "action_acc": (ours["accuracy"] or 0) / 100,
            "text_acc": (ours.get("text_accuracy") or 0) / 100,
            "icon_acc": (ours.get("icon_accuracy") or 0) / 100,
        }
        for name, value in pairs.items():
            if name in official:
                self.cell(f"{where}, {name}", value, official[name])


def compare(replay: Replay, score: Any, lines: list[Any], found: Comparison) -> None:
    """Compare the files of a run with what is expected of it."""
    expected = replay.expected
    if "metrics" in expected:
        compare_metrics(score, expected["metrics"], found)
    for split, official in (expected.get("ui_vision") or {}).items():
        compare_ui_vision(split, official, score, lines, found)
    if "osworld" in expected:
        compare_osworld(expected["osworld"], score, lines, found)
    if "counts" in expected:
        compare_counts(expected["counts"], replay, lines, found)


def compare_metrics(score: Any, metrics: Any, found: Comparison) -> None:
    """Compare groups, applications, platforms, both together, and the overall block."""
    found.block("overall", score["overall"], metrics["overall"])
    groupings = {
        "seeclick_style": ("platform", "plat"),
        "leaderboard_simple_style": ("group", "group"),
        "leaderboard_detailed_style": ("application", "app"),
    }
    for style, (grouping, short) in groupings.items():
        for key, official in metrics[style].items():
            names = dict(part.split(":", 1) for part in key.split() if ":" in part)
            found.block(f"{style} {key}", score[grouping].get(names.get(short)), official)
    for key, official in metrics["fine_grained"].items():
        names = dict(part.split(":", 1) for part in key.split() if ":" in part)
        label = f"{names['plat']}, {names['app']}"
        found.block(f"fine_grained {key}", score["platform and application"].get(label), official)


def compare_ui_vision(
    split: str, official: Any, score: Any, lines: list[Any], found: Comparison
) -> None:
    """Compare a split's metrics and verdicts."""
    metrics = official.get("metrics", official)
    for name, block in metrics.items():
        if isinstance(block, dict) and "num_total" in block:
            found.block(f"{split} {name}", score["split"].get(split), block)
    if "num_total" in metrics:
        found.block(split, score["split"].get(split), metrics)
    details = {item["prompt_to_evaluate"]: item for item in official.get("details", ())}
    for line in lines:
        if line["text"] in details:
            verdict = details[line["text"]].get("correctness")
            ours = {"hit": "correct", "miss": "wrong", "unparsed": "wrong_format"}[line["verdict"]]
            found.cell(f"{split}, {line['text']}", ours, verdict)


def compare_osworld(expected: Any, score: Any, lines: list[Any], found: Comparison) -> None:
    """Compare all verdicts, categories and the overall count."""
    verdicts = expected["correct"]
    by_text = {line["id"]: bool(line["hit"]) for line in lines}
    for row, is_right in verdicts.items():
        found.cell(row, by_text.get(row), is_right)
    blocks = {"overall": score["overall"], **score["category"]}
    for name, counts in {"overall": expected["overall"], **expected["categories"]}.items():
        block = blocks.get(name) or {"num_correct": 0, "num_total": 0}
        found.cell(name, [block["num_correct"], block["num_total"]], counts)
    if "without_refusals" in expected:
        compare_present(lines, expected["without_refusals"], found)


def compare_counts(expected: Any, replay: Replay, lines: list[Any], found: Comparison) -> None:
    """Compare the counts of a published model's replies."""
    found.cell("rows", len(lines), expected["rows"])
    found.cell("correct", sum(line["hit"] for line in lines), expected["correct"])
    cells: dict[str, Counter[str]] = {}
    for line in lines:
        cells.setdefault(f"{line['platform']} {line['kind']}", Counter())[line["verdict"]] += 1
    for name, counts in (expected.get("cells") or {}).items():
        ours = cells.get(name, Counter())
        found.cell(name, [ours["hit"], ours.total()], counts)
    if "without_refusals" in expected:
        compare_present(lines, expected["without_refusals"], found)


def compare_present(lines: list[Any], counts: Any, found: Comparison) -> None:
    """Compare the count of the rows whose element is there."""
    present = [line for line in lines if line["box_frac"] is not None]
    found.cell("without refusals", [sum(line["hit"] for line in present), len(present)], counts)


def audited(replay: Replay, folder: Path, found: Comparison) -> None:
    """See that the coordinate audit names thousandths where the default parser reads the replies."""
    _, _, analysis = run(replay, folder, parser=None)
    best = analysis["coordinate_audit"]["best"]
    found.cell("what the coordinate audit says", best[:1], ["per mille"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.grounding_replay")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path, help="where runs stay")
    options = parser.parse_args(arguments)
    different = 0
    with tempfile.TemporaryDirectory() as temporary:
        for replay in replays(options.folder):
            folder = (options.keep or Path(temporary)) / replay.name
            folder.mkdir(parents=True, exist_ok=True)
            found = Comparison(replay.name)
            score, lines, _ = run(replay, folder, parser=replay.parser)
            compare(replay, score, lines, found)
            if replay.parser == PARSE_REAL:
                audited(replay, folder, found)
            different += len(found.different)
            print(
                f"{replay.name} ({replay.dataset}): {len(lines)} rows, accuracy "
                f"{score.get('accuracy', score.get('Average accuracy'))}: "
                f"{found.equal} cells equal, {len(found.different)} different",
                flush=True,
            )
            for line in found.different[:10]:
                print(f"  {line}")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
