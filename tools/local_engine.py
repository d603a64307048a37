"""A checkpoint through `evaluate.py` beside the loop that anyone would write around `generate`.

python -m tools.local_engine [--model DIR | --like 3b] [--samples 40] [--width 1920 --height 1080]
    [--max-pixels 1003520] [--tokens 16] [--batches 1 4 8] [--rounds 3]

The bare loop: read, resize, tokenize, generate, decode, one sample after the other; p and g are its
seconds before and in `generate`. Nothing that overlaps both can take less than max(p, g); "in
turn" is our batch 1 with the overlap taken out, so that what is left is the engine's overhead.
Without --model a tiny random Qwen2.5-VL is built, with --like one of the size of a published one.
One thread for generate on a CPU (OMP_NUM_THREADS=1).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import full_size
from tools.api_engine import DATASET, PROJECT


@dataclass(frozen=True)
class Work:
    """The work of both loops."""

    model_path: str
    data: Path
    max_pixels: int
    tokens: int  # new ones of a reply


def make_data(root: Path, samples: int, wh: tuple[int, int]) -> Path:
    """A screen with some texture for each sample, all of one size."""
    from PIL import Image

    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    folder.mkdir(parents=True)
    rows = []
    for number in range(samples):
        screen = Image.new("RGB", wh, (250, 250 - number % 200, 240))
        screen.paste(Image.effect_noise((wh[0] // 3, wh[1] // 3), 60).convert("RGB"), (100, 50))
        screen.save(folder / f"{number}.png")
        rows.append(
            {
                "index": number,
                "image_path": f"{number}.png",
                "platform": "os_web",
                "app_name": "speed",
                "instruction": f"Click on element {number}.",
                "bbox": [0.4, 0.4, 0.6, 0.6],
                "image_size": list(wh),
                "data_type": "icon",
                "grounding_type": "basic",
            }
        )
    (home / "L2_annotations.json").write_text(json.dumps(rows))
    return root


def bare_loop(work: Work) -> dict[str, float]:
    """The loop without any engine; times in seconds."""
    import torch
    import transformers
    from qwen_vl_utils import process_vision_info

    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    processor = transformers.AutoProcessor.from_pretrained(work.model_path)
    dtype = "auto" if device == "cuda" else torch.float32
    model = transformers.AutoModelForImageTextToText.from_pretrained(work.model_path, dtype=dtype)
    model = model.to(device).eval()
    home = work.data / "MMBench-GUI"
    rows = json.loads((home / "L2_annotations.json").read_text())
    preparing_s = generating_s = 0.0
    began_s = time.monotonic()
    for row in rows:
        started_s = time.monotonic()
        picture = {
            "type": "image",
            "image": str(home / "offline_images" / "os_web" / row["image_path"]),
            "max_pixels": work.max_pixels,
            "min_pixels": 3136,
        }
        text = {"type": "text", "text": row["instruction"]}
        turns: list[dict[str, Any]] = [
            {"role": "system", "content": "You are a GUI agent."},
            {"role": "user", "content": [picture, text]},
        ]
        prompt = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        images, _ = process_vision_info(
            [turns[1]], image_patch_size=processor.image_processor.patch_size
        )
        inputs = processor(text=[prompt], images=images, return_tensors="pt", do_resize=False)
        inputs = inputs.to(device)
        ready_s = time.monotonic()
        with torch.inference_mode():
            ids = model.generate(**inputs, max_new_tokens=work.tokens, do_sample=False)
        processor.batch_decode(ids[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        preparing_s += ready_s - started_s
        generating_s += time.monotonic() - ready_s
    return {"wall_s": time.monotonic() - began_s, "p_s": preparing_s, "g_s": generating_s}


def evaluate_in_turn(arguments: list[str]) -> int:
    """`evaluate.py`, but nothing is prepared while the model generates, nor the other way round."""
    import evaluate
    from models.wrappers.local.batches import Batcher

    turn = threading.Lock()
    answer, begin = Batcher.answer, Batcher.__init__

    def answer_in_turn(self: Any, make: Any) -> Any:
        def make_in_turn() -> Any:
            with turn:
                return make()

        return answer(self, make_in_turn)

    def __init__(self: Any, run: Any, size: int | str, **more: Any) -> None:
        def run_in_turn(items: Sequence[Any]) -> Any:
            with turn:
                return run(items)

        begin(self, run_in_turn, size, **more)

    Batcher.answer, Batcher.__init__ = answer_in_turn, __init__  # type: ignore[method-assign]
    return evaluate.main(arguments)


def run_ours(
    work: Work, batch_size: int | str, folder: Path, *, in_turn: bool = False
) -> dict[str, float]:
    """`evaluate.py` as a user runs it; its log's end record has the inference part's cost."""
    config = folder / "config.json"
    entry = {
        "model_path": work.model_path,
        "imp_type": "transformers",
        "batch_size": batch_size,
        "generate_cfg": {"max_new_tokens": work.tokens, "do_sample": False},
        "kwargs": {"min_pixels": 3136, "max_pixels": work.max_pixels},
    }
    config.write_text(json.dumps({"model": {"m": entry}, "data": {DATASET: {"mode": "all"}}}))
    work_dir = tempfile.mkdtemp(dir=folder)
    program = ["-m", "tools.local_engine", "--in-turn"] if in_turn else ["evaluate.py"]
    command = [
        sys.executable,
        *program,
        "--config",
        str(config),
        "--work-dir",
        work_dir,
        "--mode",
        "infer",
    ]
    env = {**os.environ, "LMUData": str(work.data)}
    result = subprocess.run(
        command, cwd=PROJECT, env=env, check=True, capture_output=True, text=True
    )
    for line in (result.stdout + result.stderr).splitlines():
        if line.startswith("warning:") or "the model generated for" in line:
            print(f"  batch {batch_size}: {line}", flush=True)
    [log] = Path(work_dir).glob(f"m/T*/m_{DATASET}.jsonl")
    end = json.loads(log.read_text().splitlines()[-1])
    return {"wall_s": end["wall_s"]}


def measure_bare(work: Work) -> dict[str, float]:
    """The bare loop in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tools.local_engine",
        "--bare",
        work.model_path,
        str(work.data),
        str(work.max_pixels),
        str(work.tokens),
    ]
    result = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return measured


def main() -> None:
    """Measures one after the other and prints."""
    if sys.argv[1:2] == ["--in-turn"]:
        sys.exit(evaluate_in_turn(sys.argv[2:]))
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--like", choices=sorted(full_size.SIZES))
    for name, value in (
        ("samples", 40),
        ("width", 1920),
        ("height", 1080),
        ("tokens", 16),
        ("max-pixels", 1003520),
        ("rounds", 3),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--batches", nargs="+", default=["1", "4", "8"])
    parser.add_argument("--bare", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        path, data, pixels, tokens = options.bare
        print(json.dumps(bare_loop(Work(path, Path(data), int(pixels), int(tokens)))))
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = options.model
        if options.like:
            model = str(full_size.build(options.like, folder / options.like))
        elif model is None:
            from tests.support import tiny_checkpoint

            model = str(tiny_checkpoint.build("qwen2_5_vl", folder / "tiny", dtype="float32"))
        data = make_data(folder / "data", options.samples, (options.width, options.height))
        work = Work(model, data, options.max_pixels, options.tokens)
        runs_by_kind: dict[str, list[dict[str, float]]] = {}
        for _ in range(options.rounds):
            bare = measure_bare(work)
            runs_by_kind.setdefault("bare", []).append(bare)
            serial = run_ours(work, 1, folder, in_turn=True)
            runs_by_kind.setdefault("in turn", []).append(serial)
            for size in options.batches:
                number = size if size == "auto" else int(size)
                own_run = run_ours(work, number, folder)
                runs_by_kind.setdefault(f"batch {size}", []).append(own_run)
    report(runs_by_kind, options)


def report(runs_by_kind: dict[str, list[dict[str, float]]], options: argparse.Namespace) -> None:
    """Medians, ratios to the bare loop of the same round, raw numbers."""
    print(
        f"{options.samples} samples of {options.width}x{options.height}, "
        f"{options.rounds} rounds, medians"
    )
    bare = runs_by_kind["bare"]
    p_s, g_s = (statistics.median(run[key] for run in bare) for key in ("p_s", "g_s"))
    ceiling = max(p_s, g_s) / (p_s + g_s)
    print(
        f"bare loop {p_s + g_s:.2f} s: p {p_s:.2f} s, g {g_s:.2f} s, max(p, g) / (p + g) = "
        f"{ceiling:.3f}"
    )
    for name, runs in runs_by_kind.items():
        ratio = statistics.median(
            own_run["wall_s"] / plain["wall_s"] for own_run, plain in zip(runs, bare, strict=True)
        )
        wall_s = statistics.median(run["wall_s"] for run in runs)
        print(
            f"{name:10} {wall_s:7.2f} s   {ratio:.3f} of the bare loop, "
            f"{ratio / ceiling:.3f} of the ceiling"
        )
    print(json.dumps(runs_by_kind))


if __name__ == "__main__":
    main()
