"""Makes `docs/demo.png` from a finished `make demo`: the printed tables beside one scored sample.

python docs/demo_picture.py   (needs Chromium and playwright, see sample_data/browser_packages.txt)
"""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
SHOWN = "GUIElementGrounding"

PAGE = """<!doctype html><style>
body {{ margin: 0; padding: 28px; background: #10141b; color: #d7dde7; width: 1480px;
  font: 15px/1.45 "DejaVu Sans Mono", monospace; display: flex; gap: 28px; }}
pre {{ margin: 0; flex: none; font: inherit; }}
figure {{ margin: 0; flex: 1; font-family: Inter, sans-serif; }}
.screen {{ position: relative; }}
img {{ width: 100%; display: block; border-radius: 8px; }}
.box, .dot {{ position: absolute; box-sizing: border-box; }}
.box {{ border: 3px solid #23c16b; border-radius: 3px; }}
.dot {{ width: 16px; height: 16px; margin: -8px 0 0 -8px; border-radius: 50%;
  background: #ff3d71; border: 2px solid white; }}
figcaption {{ margin-top: 12px; line-height: 1.5; }}
</style><pre>{text}</pre>
<figure><div class="screen"><img src="data:image/png;base64,{picture}">
<div class="box" style="left:{left}%;top:{top}%;width:{width}%;height:{height}%"></div>
<div class="dot" style="left:{x}%;top:{y}%"></div></div>
<figcaption>{caption}</figcaption></figure>"""


def printed_tables() -> str:
    """What a second `make demo` prints: all answers are there, only the tables are new."""
    command = [sys.executable, "evaluate.py", "--config", "configs/config_demo.json"]
    result = subprocess.run(
        command, cwd=PROJECT, env={"LMUData": "sample_data", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    left_out = ("Files", "model", "took")
    kept = [line for line in result.stdout.splitlines() if not line.startswith(left_out)]
    return "$ make demo" + "\n".join(line[:84] for line in kept)


def a_hit() -> dict[str, Any]:
    """One web page on which the baseline found its target, from the newest demo log."""
    [log] = (PROJECT / "outputs" / "ocr-baseline").glob(f"ocr-baseline_{SHOWN}.jsonl")
    records = [json.loads(line) for line in log.read_text().splitlines()]
    for record in records:
        if record["kind"] == "answer" and record["line"]["platform"] == "os_web":
            point = re.fullmatch(r"\((.+), (.+)\)", record["raw"])
            x1, y1, x2, y2 = record["line"]["bbox"]
            if point and x1 <= float(point[1]) <= x2 and y1 <= float(point[2]) <= y2:
                return record
    raise SystemExit("no hit among the web pages; run make demo first")


def main() -> None:
    """Renders the page and saves the picture."""
    from playwright.sync_api import sync_playwright

    record = a_hit()
    line = record["line"]
    x1, y1, x2, y2 = (100 * value for value in line["bbox"])
    x, y = (100 * float(value) for value in record["raw"].strip("()").split(","))
    screen = PROJECT / "sample_data/MMBench-GUI/offline_images" / line["image_path"]
    page_text = PAGE.format(
        text=html.escape(printed_tables()),
        picture=base64.b64encode(screen.read_bytes()).decode("ascii"),
        left=x1, top=y1, width=x2 - x1, height=y2 - y1, x=x, y=y,
        caption=html.escape(f"“{line['instruction']}” → {record['raw']}, a hit"),
    )  # fmt: skip
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        page = browser.new_page(viewport={"width": 1536, "height": 480}, device_scale_factor=1)
        page.set_content(page_text)
        page.screenshot(path=PROJECT / "docs" / "demo.png", full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
