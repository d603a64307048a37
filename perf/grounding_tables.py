"""What a sample of each table of grounding costs beside one of L2: CPU and memory of whole runs.

python -m perf.grounding_tables [--samples 5479] [--images 1181] [--rounds 3]

The same tiny images and targets in the format of every table, against a server without latency,
in turn. Prints milliseconds of CPU a sample, peak memory, and both as ratios to L2's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perf.api_engine import server
from perf.scale import run

WH = (64, 64)
L2 = "GUIElementGrounding"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=5479)
    parser.add_argument("--images", type=int, default=1181)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        layouts = dict(annotations(options.samples, options.images))
        for home, files in layouts.values():
            lay_out(folder / "data" / home, files, options.images)
        runs: dict[str, list[dict[str, float]]] = {dataset: [] for dataset in layouts}
        for _ in range(options.rounds):
            for dataset in layouts:
                with server(0) as url:
                    runs[dataset].append(run(url, folder / "data", folder, dataset))
    medians = {
        dataset: {
            key: statistics.median(one_run[key] for one_run in all_runs) for key in all_runs[0]
        }
        for dataset, all_runs in runs.items()
    }
    for dataset, median in medians.items():
        cpu_ratio = median["cpu_s"] / medians[L2]["cpu_s"]
        memory_ratio = median["peak_mb"] / medians[L2]["peak_mb"]
        print(
            f"{dataset:20} CPU {1000 * median['cpu_s'] / options.samples:.3f} ms a sample "
            f"({cpu_ratio:.2f} of L2's), peak {median['peak_mb']:.0f} MB ({memory_ratio:.2f})"
        )
    print(json.dumps(runs))


def annotations(count: int, images: int) -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Yield each data set with its folder and its files of `count` rows."""
    names = [f"pic{number % images:05}.png" for number in range(count)]
    texts = [f"Click on element {number}." for number in range(count)]
    pairs = list(zip(names, texts, strict=True))
    level2 = [
        {
            "index": number,
            "image_path": name,
            "platform": "os_web",
            "app_name": "perf",
            "instruction": text,
            "bbox": [0.25, 0.25, 0.5, 0.5],
            "image_size": list(WH),
            "data_type": "icon",
            "grounding_type": "basic",
        }
        for number, (name, text) in enumerate(pairs)
    ]
    yield L2, ("MMBench-GUI", {"L2_annotations.json": level2})
    vision = [
        {
            "image_path": name,
            "image_size": list(WH),
            "prompt_to_evaluate": text,
            "bbox": [16.0, 16.0, 32.0, 32.0],
            "platform": "GIMP",
            "category": "Button",
            "element_type": "icon",
        }
        for name, text in pairs
    ]
    splits = {"basic": vision[0::3], "functional": vision[1::3], "spatial": vision[2::3]}
    folder = "annotations/element_grounding/element_grounding_"
    yield "UIVision", ("ui-vision", {f"{folder}{name}.json": rows for name, rows in splits.items()})
    pro = [
        {
            "id": f"p{number}",
            "img_filename": name,
            "img_size": list(WH),
            "instruction": text,
            "bbox": [16, 16, 32, 32],
            "application": "gimp",
            "platform": "linux",
            "ui_type": "icon",
            "group": "Creative",
        }
        for number, (name, text) in enumerate(pairs)
    ]
    yield "ScreenSpotPro", ("ScreenSpot-Pro", {"annotations/gimp_linux.json": pro})
    world = [
        {
            "id": f"o{number}",
            "image_path": name,
            "image_size": list(WH),
            "instruction": text,
            "box_type": "polygon",
            "box_coordinates": [16, 16, 32, 16, 40, 24, 32, 32, 16, 32],
            "GUI_types": ["Icon"],
        }
        for number, (name, text) in enumerate(pairs)
    ]
    yield "OSWorldG", ("OSWorld-G", {"OSWorld-G.json": world})
    spot = [
        {"img_filename": name, "bbox": [16, 16, 8, 8], "instruction": text, "data_type": "icon"}
        for name, text in pairs
    ]
    parts = {"mobile": spot[0::3], "desktop": spot[1::3], "web": spot[2::3]}
    files = {f"screenspot_{name}_v2.json": rows for name, rows in parts.items()}
    yield "ScreenSpotV2", ("ScreenSpot-v2", files)


IMAGES = {
    "MMBench-GUI": "offline_images/os_web",
    "ui-vision": "images",
    "ScreenSpot-Pro": "images",
    "OSWorld-G": "images",
    "ScreenSpot-v2": "screenspotv2_image",
}


def lay_out(home: Path, files: dict[str, Any], images: int) -> None:
    """Write annotation files and tiny images of their own."""
    from PIL import Image

    for name, rows in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows))
    folder = home / IMAGES[home.name]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(images):
        color = (number % 256, number // 256, 7)
        Image.new("RGB", WH, color).save(folder / f"pic{number:05}.png")


if __name__ == "__main__":
    main()
