"""Renews the pictures of the README and of `docs/`: runs the demo, opens its report, takes them.

python docs/pictures.py   (`make pictures`; needs Chromium and playwright, see
sample_data/browser_packages.txt)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
LARGEST_BYTES = 400_000
L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
# What each picture shows: an address in the page, a colour scheme, and the keys pressed there.
PICTURES = {
    "report_overview": ("#/overview", "light", ()),
    "report_overview_dark": ("#/overview", "dark", ()),
    "report_list": (f"#/samples?dataset={L2}&verdict=miss", "light", ()),
    "report_table": (f"#/samples?dataset={L1}&view=table", "light", ()),
    "report_l2": (f"#/samples?dataset={L2}&platform=os_web&verdict=miss", "light", ("Enter",)),
    "report_l1": (f"#/samples?dataset={L1}&platform=os_mac", "light", ("Enter",)),
}


def demo_report(work_dir: Path) -> Path:
    """The page of a new run of the demo."""
    command = [sys.executable, "evaluate.py", "--config", "configs/config_demo.json"]
    environment = {**os.environ, "LMUData": "sample_data"}
    subprocess.run([*command, "--work-dir", work_dir], cwd=PROJECT, env=environment, check=True)
    [page] = work_dir.glob("ocr-baseline/T*/report/index.html")
    return page


def main() -> None:
    """Runs the demo and saves the pictures."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        report = demo_report(Path(folder))
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        for name, (address, scheme, keys) in PICTURES.items():
            size = {"width": 1280, "height": 900}
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(report.as_uri() + address)
            page.wait_for_function("() => document.documentElement.dataset.ready")
            for key in keys:
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
