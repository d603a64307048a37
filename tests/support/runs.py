"""Real runs of `evaluate.py` as a process, on a small data root that the test makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

PROJECT = Path(__file__).resolve().parents[2]
PICTURES = (("os_windows", (640, 360)), ("os_ios", (295, 639)), ("os_web", (400, 300)))


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Everything that was printed."""
        return self.stdout + self.stderr


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without variables that would change a run."""
    dropped = {"LMUData", "EVAL_WORK_DIR", "IMAGE_ROOT_DIR", "L2_USER_PROMPT", "L1_USE_WEIGHTED",
               "OPENAI_API_KEY", "SKIP_ERR"}  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "NO_PROXY": "127.0.0.1,localhost", "OMP_NUM_THREADS": "1", **extra}


def evaluate(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Finished:
    """Runs `python evaluate.py ...` to its end."""
    result = subprocess.run(
        [sys.executable, str(PROJECT / "evaluate.py"), *map(str, arguments)],
        cwd=cwd, env=environment(**(env or {})), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return Finished(result.returncode, result.stdout, result.stderr)


def start(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts `python evaluate.py ...`; for tests that interrupt or kill it."""
    return subprocess.Popen(
        [sys.executable, str(PROJECT / "evaluate.py"), *map(str, arguments)],
        cwd=cwd, env=environment(**(env or {})), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def make_data(root: Path, pictures: Sequence[tuple[str, tuple[int, int]]] = PICTURES) -> Path:
    """A data root in the published layout: per picture 3 L1 questions and 2 L2 instructions.

    The answer to every L1 question is B; every L2 target is the box (0.1, 0.1, 0.3, 0.2).
    """
    home = root / "MMBench-GUI"
    l1: list[dict[str, Any]] = []
    l2: list[dict[str, Any]] = []
    for number, (platform, wh) in enumerate(pictures):
        folder = home / "offline_images" / platform
        folder.mkdir(parents=True, exist_ok=True)
        picture = Image.new("RGB", wh, (240, 240, 200 + number % 50))
        box = [0.1 * wh[0], 0.1 * wh[1], 0.3 * wh[0], 0.2 * wh[1]]
        ImageDraw.Draw(picture).rectangle(box, fill=(20, 90, 10 * (number % 20)))
        name = f"pic{number}.png"
        picture.save(folder / name)
        common = {"index": number, "image_path": name, "image_size": list(wh),
                  "platform": platform, "app_name": "App"}  # fmt: skip
        l1.append({**common, "groups": [
            {"question": f"Question {number} {difficulty}?", "options": {"A": "no", "B": "yes", "C": "maybe"},
             "answer": "B", "explanation": "because", "difficulty": difficulty}
            for difficulty in ("easy", "medium", "hard")]})  # fmt: skip
        for kind, grounding in (("text", "basic"), ("icon", "advanced")):
            l2.append({**common, "index": len(l2), "instruction": f"Click {grounding} target {number}.",
                       "bbox": [0.1, 0.1, 0.3, 0.2], "data_type": kind, "grounding_type": grounding})  # fmt: skip
    (home / "L1_annotations.json").write_text(json.dumps(l1))
    (home / "L2_annotations.json").write_text(json.dumps(l2))
    return root


def write_config(
    path: Path, *, model: Mapping[str, Any], data: Mapping[str, Any] | None = None
) -> Path:
    """A config file; `data` defaults to both data sets in mode all."""
    both = {"GUIContentUnderstanding": {"mode": "all"}, "GUIElementGrounding": {"mode": "all"}}
    path.write_text(json.dumps({"model": model, "data": both if data is None else data}))
    return path


def api_model(url: str, *, key: str = "test-key-123456", **entry: Any) -> dict[str, Any]:
    """A model entry for a server."""
    return {"model_path": f"{url}?api_key={key}&model=mock", "imp_type": "openai",
            "generate_cfg": {"max_tokens": 16, "temperature": 0}, **entry}  # fmt: skip


def run_folder(work_dir: Path, model: str) -> Path:
    """The only run folder of a model."""
    [folder] = [path for path in (work_dir / model).iterdir()
                if path.is_dir() and not path.is_symlink()]  # fmt: skip
    return folder
