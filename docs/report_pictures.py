"""Makes `docs/report_*.png` from the report of a finished `make demo`: overview and two samples.

python docs/report_pictures.py [REPORT]   (needs Chromium and playwright, see
sample_data/browser_packages.txt; REPORT is a folder, by default that of the newest demo run)
"""

from __future__ import annotations

import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
LARGEST_BYTES = 300_000
# What each picture shows: an address in the page, and the keys pressed there.
PICTURES = {
    "report_overview": ("#/overview", ()),
    "report_l2": ("#/samples?dataset=GUIElementGrounding&platform=os_web&verdict=miss", ("Enter",)),
    "report_l1": ("#/samples?dataset=GUIContentUnderstanding&platform=os_mac", ("Enter",)),
}


def newest_report() -> Path:
    """The report of the demo's newest run."""
    found = (PROJECT / "outputs" / "ocr-baseline").glob("T*/report/index.html")
    pages = sorted(found, key=lambda page: page.stat().st_mtime)
    if not pages:
        raise SystemExit("no report below outputs/ocr-baseline; run make demo first")
    return pages[-1].parent


def main() -> None:
    """Renders the pages and saves the pictures."""
    from playwright.sync_api import sync_playwright

    report = Path(sys.argv[1]).resolve() if sys.argv[1:] else newest_report()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        for name, (address, keys) in PICTURES.items():
            page = browser.new_page(viewport={"width": 1280, "height": 820}, color_scheme="light")
            page.goto((report / "index.html").as_uri() + address)
            page.wait_for_function("() => document.documentElement.dataset.ready")
            for key in keys:
                page.keyboard.press(key)
                page.wait_for_selector("#canvas img")
            page.wait_for_function("() => [...document.images].every((image) => image.complete)")
            page.wait_for_timeout(200)
            png = page.screenshot(path=PROJECT / "docs" / f"{name}.png")
            assert len(png) < LARGEST_BYTES, f"{name}: {len(png)} bytes"
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
