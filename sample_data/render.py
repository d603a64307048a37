"""Renders the sample pages to pictures and writes the two annotation files beside them.

    python sample_data/render.py            # everything, from pages/ to MMBench-GUI/
    python sample_data/render.py --check    # compares, writes nothing

Each page is an HTML file with a JSON file of the same name: platform, screen size, questions, and
for each instruction the element that it means, by its `data-target`. A box is never written by
hand: it is read from the rendered page, so it cannot drift away from the picture.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # run as a script or loaded by its path: this folder is no package

from sample_page import (  # noqa: E402
    DATA_DIR,
    GROUNDING_TYPES,
    SamplePage,
    load_pages,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

PACKAGES_FILE = HERE / "browser_packages.txt"

FONTS = (
    "Cantarell",
    "Inter",
    "Liberation Mono",
    "Liberation Sans",
    "Liberation Serif",
    "Noto Color Emoji",
    "Open Sans",
    "Roboto",
)

CHROMIUM = "/usr/bin/chromium"
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Text is laid out and drawn alike on every machine, whatever its font settings say.
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
)

SECONDS_TO_START = 120

BOX_DECIMALS = 4
CHECK_TOLERANCE_PX = 0.5

Box = tuple[float, float, float, float]

# Runs in the page: the box of every wanted element in CSS pixels, and whether a click on its centre
# reaches it. An element that is missing, doubled or covered is a mistake in the page.
_BOXES_JS = """
(names) => Object.fromEntries(names.map((name) => {
  const found = document.querySelectorAll(`[data-target="${name}"]`);
  if (found.length !== 1) return [name, { count: found.length }];
  const r = found[0].getBoundingClientRect();
  const hit = document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
  return [name, {
    count: 1,
    box: [r.left, r.top, r.right, r.bottom],
    reached: hit !== null && found[0].contains(hit),
  }];
}))
"""

# Runs in the page: the families that the machine lacks. An absent family falls back, so its text is
# as wide as the fallback's, whichever fallback is named.
_FONTS_JS = """
(families) => {
  const pen = document.createElement('canvas').getContext('2d');
  const width = (font) => { pen.font = `40px ${font}`; return pen.measureText(pen.sample).width; };
  return families.filter((family) => {
    pen.sample = family.includes('Emoji') ? '\\u{1F600}\\u{1F680}' : 'mmmiiiWWW 0123 &@';
    return ['serif', 'monospace', 'sans-serif'].every(
      (fallback) => width(`"${family}", ${fallback}`) === width(fallback));
  });
}
"""


class SampleError(Exception):
    """The sample cannot be rendered or does not match its pages; the message lists why."""


def browser_packages() -> list[str]:
    """The Debian packages that rendering needs: the browser and the fonts of the pages."""
    return PACKAGES_FILE.read_text(encoding="utf-8").split()


def missing_for_rendering() -> str | None:
    """What rendering lacks on this machine and how to install it; None if nothing is missing."""
    install = "apt-get install -y --no-install-recommends " + " ".join(browser_packages())
    if find_spec("playwright") is None:
        return "the Python package playwright is missing: pip install playwright"
    if shutil.which(CHROMIUM) is None:
        return f"{CHROMIUM} is missing: {install}"
    with open_browser() as browser:
        tab = browser.new_page()
        absent = tab.evaluate(_FONTS_JS, list(FONTS))
        tab.close()
    return f"fonts are missing ({', '.join(absent)}): {install}" if absent else None


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A headless browser that draws the same page the same way on every machine."""
    # Imported late: everything that needs no browser works without playwright.
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_FLAGS), timeout=1000 * SECONDS_TO_START
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def _open_tab(browser: Browser, page: SamplePage) -> Iterator[Tab]:
    width, height = page.viewport_css
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=page.scale,
        locale="en-US",
        timezone_id="UTC",
        color_scheme="light",
        reduced_motion="reduce",
        offline=True,
    )
    try:
        tab = context.new_page()
        failures: list[str] = []
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(page.html_path.as_uri())
        tab.evaluate("document.fonts.ready.then(() => true)")
        if failures:
            raise SampleError(f"{page.html_path.name}: script error: {'; '.join(failures)}")
        yield tab
    finally:
        context.close()


def _boxes_px(tab: Tab, page: SamplePage) -> dict[str, Box]:
    mistakes = tab.evaluate(_BOXES_JS, [target.name for target in page.targets])
    width, height = page.image_wh
    boxes: dict[str, Box] = {}
    problems: list[str] = []
    for name, element in mistakes.items():
        position = f'{page.html_path.name}: data-target="{name}"'
        if element["count"] != 1:
            problems.append(f"{position}: {element['count']} elements, expected 1")
            continue
        x1, y1, x2, y2 = (round(edge * page.scale, 3) for edge in element["box"])
        if not (0 <= x1 < x2 <= width and 0 <= y1 < y2 <= height):
            problems.append(
                f"{position}: box {(x1, y1, x2, y2)} leaves the {width}x{height} screen"
            )
        elif not element["reached"]:
            problems.append(f"{position}: covered, a click on its centre reaches something else")
        boxes[name] = (x1, y1, x2, y2)
    if problems:
        raise SampleError("\n".join(problems))
    return boxes


def measure(browser: Browser, page: SamplePage) -> dict[str, Box]:
    """Boxes of the page's targets in device pixels (x1, y1, x2, y2), without a picture.

    Raises:
        SampleError: a target is missing, doubled, covered or outside the screen.
    """
    with _open_tab(browser, page) as tab:
        return _boxes_px(tab, page)


def render(browser: Browser, page: SamplePage) -> tuple[dict[str, Box], Image.Image]:
    """Boxes as from `measure`, and the picture of the page."""
    with _open_tab(browser, page) as tab:
        boxes = _boxes_px(tab, page)
        png = tab.screenshot(animations="disabled", caret="hide", scale="device")
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    if picture.size != page.image_wh:
        raise SampleError(f"{page.name}: rendered {picture.size}, expected {page.image_wh}")
    return boxes, picture


def l1_annotations(pages: Sequence[SamplePage]) -> list[dict[str, Any]]:
    """Content of `L1_annotations.json`."""
    return [
        {
            "index": index,
            "image_path": page.picture_name,
            "image_size": list(page.image_wh),
            "platform": page.platform,
            "app_name": page.app_name,
            "groups": [dict(question) for question in page.questions],
        }
        for index, page in enumerate(pages)
    ]


def l2_annotations(
    pages: Sequence[SamplePage], boxes_px: Mapping[str, Mapping[str, Box]]
) -> list[dict[str, Any]]:
    """Content of `L2_annotations.json`; `boxes_px` is page name -> target name -> box."""
    rows: list[dict[str, Any]] = []
    for page in pages:
        for target in page.targets:
            box_frac = _as_fractions(boxes_px[page.name][target.name], page.image_wh)
            for grounding_type in GROUNDING_TYPES:
                rows.append(
                    {
                        "index": len(rows),
                        "image_path": page.picture_name,
                        "instruction": target.instructions[grounding_type],
                        "bbox": box_frac,
                        "image_size": list(page.image_wh),
                        "data_type": target.data_type,
                        "platform": page.platform,
                        "app_name": page.app_name,
                        "grounding_type": grounding_type,
                    }
                )
    return rows


def _as_fractions(box_px: Box, image_wh: tuple[int, int]) -> list[float]:
    sides = (*image_wh, *image_wh)
    return [round(edge / side, BOX_DECIMALS) for edge, side in zip(box_px, sides, strict=True)]


def box_difference_px(
    left_frac: Sequence[float], right_frac: Sequence[float], image_wh: Sequence[int]
) -> float:
    """Largest distance between two boxes' edges, in device pixels of the picture."""
    sides = (*image_wh, *image_wh)
    return max(abs(a - b) * side for a, b, side in zip(left_frac, right_frac, sides, strict=True))


def to_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as they stand in the file: one key a line, boxes and sizes on one line."""
    compact = {"bbox", "image_size"}

    def lines(value: object, indent: int) -> str:
        pad = " " * (indent + 1)
        if isinstance(value, Mapping):
            inner = (
                f"{pad}{json.dumps(key)}: "
                + (json.dumps(item) if key in compact else lines(item, indent + 1))
                for key, item in value.items()
            )
            return "{\n" + ",\n".join(inner) + "\n" + " " * indent + "}"
        if isinstance(value, Sequence) and not isinstance(value, str):
            return (
                "[\n"
                + ",\n".join(pad + lines(item, indent + 1) for item in value)
                + "\n"
                + " " * indent
                + "]"
            )
        return json.dumps(value)

    return lines(rows, 0) + "\n"


def write_sample(pages: Sequence[SamplePage]) -> None:
    """Renders every page and replaces the pictures and annotation files in the data root."""
    boxes_px: dict[str, dict[str, Box]] = {}
    kept_files: set[Path] = set()
    with open_browser() as browser:
        for page in pages:
            boxes_px[page.name], picture = render(browser, page)
            page.picture_path.parent.mkdir(parents=True, exist_ok=True)
            # Without the optimiser the folder would be about a third larger.
            picture.save(page.picture_path, optimize=True)
            kept_files.add(page.picture_path)
    # A changed page gets a new name: the picture of its old state must not stay behind.
    for path in (DATA_DIR / "offline_images").glob("os_*/*.png"):
        if path not in kept_files:
            path.unlink()
    for level, rows in (("L1", l1_annotations(pages)), ("L2", l2_annotations(pages, boxes_px))):
        (DATA_DIR / f"{level}_annotations.json").write_text(to_json(rows), encoding="utf-8")


def differences(pages: Sequence[SamplePage]) -> list[str]:
    """What in the data root differs from the pages; an empty list if nothing does."""
    with open_browser() as browser:
        boxes_px = {page.name: measure(browser, page) for page in pages}
    mistakes: list[str] = []
    for page in pages:
        if not page.picture_path.is_file():
            mistakes.append(f"{page.name}: picture {page.picture_name} is missing")
            continue
        with Image.open(page.picture_path) as picture:
            if picture.size != page.image_wh:
                mistakes.append(f"{page.name}: picture is {picture.size}, page {page.image_wh}")
    expected_names = {page.picture_name for page in pages}
    for path in sorted((DATA_DIR / "offline_images").glob("os_*/*")):
        if path.name not in expected_names:
            mistakes.append(f"{path.parent.name}/{path.name}: belongs to no page")
    mistakes += row_differences("L1", l1_annotations(pages))
    mistakes += row_differences("L2", l2_annotations(pages, boxes_px))
    return mistakes


def row_differences(level: str, expected: Sequence[Mapping[str, Any]]) -> list[str]:
    """What in the annotation file of `level` differs from the rows expected there."""
    path = DATA_DIR / f"{level}_annotations.json"
    if not path.is_file():
        return [f"{path.name}: missing"]
    actual = json.loads(path.read_text(encoding="utf-8"))
    if len(actual) != len(expected):
        return [f"{path.name}: {len(actual)} entries, expected {len(expected)}"]
    mistakes: list[str] = []
    for have, want in zip(actual, expected, strict=True):
        position = f"{path.name}, index {want['index']}"
        for key in sorted(set(have) | set(want)):
            if key == "bbox" and key in have and key in want:
                distance_px = box_difference_px(have[key], want[key], want["image_size"])
                # The file has fractions of four decimals: its own rounding is not a difference.
                rounding_px = 10**-BOX_DECIMALS * max(want["image_size"])
                if distance_px > CHECK_TOLERANCE_PX + rounding_px:
                    mistakes.append(f"{position}: box is {distance_px:.1f} px off")
            elif have.get(key) != want.get(key):
                mistakes.append(f"{position}: {key} differs")
    return mistakes


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit code."""
    parser = argparse.ArgumentParser(description="Render the sample pages and their annotations.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args(argv)
    missing = missing_for_rendering()
    if missing is not None:
        print(missing, file=sys.stderr)
        return 2
    pages = load_pages()
    try:
        if arguments.check:
            mistakes = differences(pages)
            print("\n".join(mistakes) if mistakes else f"{len(pages)} pages: everything agrees")
            return 1 if mistakes else 0
        write_sample(pages)
    except SampleError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(pages)} pages rendered to {DATA_DIR.name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
