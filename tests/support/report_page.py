"""A small report of both levels, with markup in its texts, for tests in the browser."""

from __future__ import annotations

import math
from pathlib import Path

from tests.support import report_runs
from tests.support.report_runs import L1, L2, l1_sample, l2_sample, make_pictures, write_samples
from utils.pages.report import build_report
from utils.scoring.scorer import FAILED_TEXT

WH = {
    "os_web/pic0.png": (400, 300),
    "os_windows/pic0.png": (1920, 1080),
    "os_ios/tall.png": (300, 640),
}
IMAGES = list(WH)
BAD = "<script>alert(1)</script><img src=x onerror=alert(2)>"
BOX, POINT = [0.251, 0.1458, 0.2708, 0.1792], [0.6214, 0.3593]
FAR_PX = math.hypot((POINT[0] - BOX[2]) * 1920, (POINT[1] - BOX[3]) * 1080)
SIZE_PX = math.hypot((BOX[2] - BOX[0]) * 1920, (BOX[3] - BOX[1]) * 1080)
L2_SAMPLES = [
    l2_sample(
        0,
        "os_windows/pic0.png",
        box_frac=BOX,
        point_frac=POINT,
        file_wh=[1920, 1080],
        text="Delete the picture",
        kind="icon",
        prediction=f"click {BAD}",
        raw=f"raw {BAD}",
        reasoning=f"so {BAD}",
    ),
    l2_sample(
        1,
        "os_web/pic0.png",
        verdict="hit",
        point_frac=[0.2, 0.3],
        text="Open the basket",
        kind="text",
        split="advanced",
        prediction="(0.2, 0.3)",
    ),
    l2_sample(
        2,
        "os_ios/tall.png",
        verdict="unparsed",
        point_frac=None,
        text=f"Wrapped {BAD}",
        file_wh=[300, 640],
        prediction="I cannot see a zeppelin",
    ),
    l2_sample(
        3,
        "os_web/pic0.png",
        verdict=None,
        status="failed",
        point_frac=None,
        prediction=FAILED_TEXT,
        error={"class": f"timeout {BAD}", "message": f"no answer {BAD}"},
    ),
]
L1_SAMPLES = [
    l1_sample(0, text=f"Which is right? {BAD}", options={"A": BAD, "B": "yes", "C": "no"}),
    l1_sample(1, verdict="hit", chosen="B", prediction="B"),
    l1_sample(1, verdict="unparsed", chosen=None, prediction="hm"),  # the same index again
]


def build_page(home: Path) -> Path:
    """Builds the report below a folder and returns its page."""
    for name, wh in WH.items():
        make_pictures(home / "images", [name], wh)
    run, model = home / "out" / "m" / "T1_Ga", f"model {BAD}"[:12]
    samples = write_samples(run, L1, L1_SAMPLES, model=model)
    report_runs.write_rotations(samples, L1_SAMPLES)
    write_samples(run, L2, L2_SAMPLES, model=model)
    analysis = report_runs.analysis_of_l2()
    finding = {"code": "x", "severity": "warning", "summary": f"warned {BAD}"}
    analysis["coordinate_audit"]["findings"].append(finding)
    report_runs.write_analysis(run, L2, analysis, model=model)
    (run / "manifest.json").write_text('{"versions": {"torch": "<b>2.14</b>"}, "list": [1, 2]}')
    return build_report(run, image_root=home / "images", cache=home / "cache")
