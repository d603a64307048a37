"""Renews the pictures of the README and of `docs/`: runs the demo, opens its pages, takes them.

python docs/pictures.py   (`make pictures`; needs Chromium and playwright, see
sample_data/browser_packages.txt)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
LARGEST_BYTES = 400_000
L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
REPORT, COMPARISON = "ocr-baseline/T*/report/index.html", "comparison/comparison.html"
# What each picture shows: a page below the work-dir, an address in it, a colour scheme, and the
# key pressed there.
PICTURES = {
    "report_overview": (REPORT, "#/overview", "light", ""),
    "report_overview_dark": (REPORT, "#/overview", "dark", ""),
    "report_list": (REPORT, f"#/samples?dataset={L2}&verdict=miss", "light", ""),
    "report_table": (REPORT, f"#/samples?dataset={L1}&view=table", "light", ""),
    "report_l2": (REPORT, f"#/samples?dataset={L2}&platform=os_web&verdict=miss", "light", "Enter"),
    "report_l1": (REPORT, f"#/samples?dataset={L1}&platform=os_mac", "light", "Enter"),
    "comparison": (COMPARISON, "#/overview", "light", ""),
    "comparison_l2": (
        COMPARISON,
        f"#/samples?dataset={L2}&outcome=both-wrong-different",
        "light",
        "j",
    ),
}
BLIND = """
class Blind:
    def generate(self, message, *, dataset_name, **settings):
        return "(0.5, 0.5)" if dataset_name == "GUIElementGrounding" else "Answer: B"
"""


def demo_runs(work_dir: Path) -> None:
    """A new run of the demo, and one of a model that sees nothing, compared with it."""
    (work_dir / "blind.py").write_text(BLIND)
    blind = {"model_path": "blind.Blind", "imp_type": "custom"}
    data = {name: {"mode": "all"} for name in (L1, L2)}
    config = work_dir / "blind.json"
    config.write_text(json.dumps({"model": {"blind-guess": blind}, "data": data}))
    environment = {**os.environ, "LMUData": "sample_data", "PYTHONPATH": str(work_dir)}
    for command in (
        ["evaluate.py", "--config", config, "--work-dir", work_dir],
        ["evaluate.py", "--config", "configs/config_demo.json", "--work-dir", work_dir],
        [
            "compare.py",
            work_dir / "blind-guess",
            work_dir / "ocr-baseline",
            "--format",
            "html",
            "--output",
            work_dir / "comparison",
        ],
    ):
        subprocess.run([sys.executable, *command], cwd=PROJECT, env=environment, check=True)


def main() -> None:
    """Runs the demo and saves the pictures."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        demo_runs(Path(folder))
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        for name, (page_name, address, scheme, key) in PICTURES.items():
            [file] = Path(folder).glob(page_name)
            size = {"width": 1280, "height": 900}
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(file.as_uri() + address)
            page.wait_for_function("() => document.documentElement.dataset.ready")
            if key:
                page.keyboard.press(key)
                page.wait_for_selector("#canvas img")
            page.wait_for_function("() => [...document.images].every((image) => image.complete)")
            page.wait_for_timeout(300)
            png = page.screenshot(path=PROJECT / "docs" / f"{name}.png")
            assert len(png) < LARGEST_BYTES, f"{name}: {len(png)} bytes"
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
