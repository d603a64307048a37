"""Writes `by_step.html`: official figures of checkpoints over the steps of their training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

from utils.comparing.training import CheckpointRun, Training
from utils.pages.all_runs import ASSETS, checksum
from utils.scoring.sheets import write_text
from utils.store.run_facts import REPORT_FOLDER
from utils.text import counted, format_interval, format_percent

PAGE = "by_step.html"
COLOURS = 6  # of series; further ones begin again
WIDTH, HEIGHT = 340, 200  # of a chart, in units of its own
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 12, 26  # of the plane in it
DIGIT, GAP = 6.5, 8  # width of a sign of a label, and between two labels


def write_by_step(training: Training, output: Path) -> Path:
    """Write the page into a folder and return its path.

    Raises:
        StopRun: the folder cannot be written.
    """
    page, own_style = (
        (ASSETS / "by_step" / f"by_step.{kind}").read_text("utf-8") for kind in ("html", "css")
    )
    style = (ASSETS / "core" / "page.css").read_text("utf-8") + own_style
    text = Template(page).substitute(
        style=style,
        style_hash=checksum(style),
        count=f"{len(training.checkpoints)} checkpoints",
        legend="".join(
            f'<li class="series-{number % COLOURS}">{escape(name)}</li>'
            for number, name in enumerate(training.series)
        ),
        sections="\n".join(
            _section(training, dataset, level, output) for dataset, level in training.levels.items()
        ),
    )
    return write_text(output / PAGE, text)


def _section(training: Training, dataset: str, level: str, output: Path) -> str:
    names = training.figure_names(dataset)
    title = escape(dataset if level in ("", dataset) else f"{level} {dataset}")
    charts = "".join(_chart(training, dataset, name) for name in names)
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    best = training.best(dataset)
    rows = "\n".join(
        _row(run, dataset, names, output, is_best=run is best)
        for run in training.scored_on(dataset)
    )
    return (
        f"<section><h2>{title}</h2>"
        f'<div class="charts">{charts}</div>'
        f'<div class="wide" tabindex="0" role="region" aria-label="{title}, figures by step">'
        f'<table><thead><tr><th scope="col">series</th><th scope="col">step</th>{heads}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div></section>"
    )


def _row(
    run: CheckpointRun, dataset: str, names: Sequence[str], output: Path, *, is_best: bool
) -> str:
    report = run.folder / REPORT_FOLDER / "index.html"
    step = f"{run.step:,}" + (" ‡" if run.is_partial(dataset) else "")
    if report.exists():
        address = quote(Path(os.path.relpath(report, output)).as_posix())
        step = f'<a href="{address}">{step}</a>'
    cells = []
    for name in names:
        figure = run.figures(dataset).get(name) or {}
        interval = format_interval(figure)
        below = f'<span class="quiet">{interval}</span>' if interval else ""
        cells.append(f"<td>{format_percent(figure.get('value'))}{below}</td>")
    if count := run.warnings(dataset):
        step += f'<span class="odd">{counted(count, "warning")}</span>'
    mark = ' class="best"' if is_best else ""
    series = f'<th scope="row">{escape(run.series)}</th>'
    return f"<tr{mark}>{series}<td>{step}</td>{''.join(cells)}</tr>"


def _chart(training: Training, dataset: str, name: str) -> str:
    """A chart of one figure: a line for each series, with a band for its intervals."""
    runs = [run for run in training.scored_on(dataset) if _value(run, dataset, name) is not None]
    steps = [run.step for run in runs]
    first, last = min(steps), max(steps)
    bounds = [_bounds(run.figures(dataset)[name]) for run in runs]
    bottom = max(0.0, 5 * (min(low for low, _ in bounds) // 5))
    top = min(100.0, 5 * (max(high for _, high in bounds) // 5 + 1))
    plane = _Plane((first, max(last, first + 1)), (bottom, max(top, bottom + 5)))
    lines = [
        _series(plane, [run for run in runs if run.series == series], dataset, name, number)
        for number, series in enumerate(training.series)
    ]
    label = f"{escape(name)} by step, in %"
    return (
        f'<figure><figcaption>{escape(name)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{label}">{plane.axes(steps)}{"".join(lines)}</svg></figure>'
    )


def _series(
    plane: _Plane, runs: Sequence[CheckpointRun], dataset: str, name: str, number: int
) -> str:
    """The band, the line and the points of one series."""
    if not runs:
        return ""
    figures = [run.figures(dataset)[name] for run in runs]
    upper = [plane.at(run.step, _bounds(f)[1]) for run, f in zip(runs, figures, strict=True)]
    lower = [plane.at(run.step, _bounds(f)[0]) for run, f in zip(runs, figures, strict=True)]
    middle = [plane.at(run.step, f["value"]) for run, f in zip(runs, figures, strict=True)]
    points = "".join(
        f'<circle cx="{point.partition(",")[0]}" cy="{point.partition(",")[2]}" r="3">'
        f"<title>{escape(run.series)}, step {run.step:,}: {format_percent(figure['value'])} "
        f"{format_interval(figure)}</title></circle>"
        for point, run, figure in zip(middle, runs, figures, strict=True)
    )
    band = " ".join([*upper, *reversed(lower)])
    return (
        f'<g class="series-{number % COLOURS}"><polygon class="band" points="{band}"/>'
        f'<polyline class="line" points="{" ".join(middle)}"/>{points}</g>'
    )


def _value(run: CheckpointRun, dataset: str, name: str) -> float | None:
    return (run.figures(dataset).get(name) or {}).get("value")


def _bounds(figure: Mapping[str, Any]) -> tuple[float, float]:
    """The interval of a figure, in percent; without one its value twice."""
    value = figure["value"]
    low, high = figure.get("low"), figure.get("high")
    return (value if low is None else low, value if high is None else high)


class _Plane:
    """Maps steps and percents into a chart.

    Args:
        steps: the first and the last one.
        percents: the lowest and the highest one that is shown.
    """

    def __init__(self, steps: tuple[int, int], percents: tuple[float, float]) -> None:
        self._steps, self._percents = steps, percents

    def at(self, step: int, percent: float) -> str:
        """The place of a value, as `x,y` in the units of the chart."""
        first, last = self._steps
        bottom, top = self._percents
        x = LEFT + (step - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - (percent - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM)
        return f"{x:.1f},{y:.1f}"

    def axes(self, steps: Iterable[int]) -> str:
        """Lines at round percents with their labels, and the steps as far as there is room."""
        bottom, top = self._percents
        gap = next(gap for gap in (1, 2, 5, 10, 20, 50) if (top - bottom) / gap <= 5)
        parts = []
        percent = gap * -(-bottom // gap)
        while percent <= top:
            y = self.at(self._steps[0], percent).partition(",")[2]
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
                f'<text class="tick" x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end">'
                f"{percent:g}</text>"
            )
            percent += gap
        parts.append(f'<text class="tick" x="2" y="{HEIGHT - 8}">step</text>')
        *earlier, last = sorted(set(steps))
        room = WIDTH - _width(last)  # the last step has its place at the right
        lefts = {last: room}
        end = 0.0  # of the label before
        for step in earlier:
            x = float(self.at(step, bottom).partition(",")[0])
            left = max(float(LEFT), x - _width(step) / 2)
            if end <= left and left + _width(step) + GAP <= room:
                lefts[step] = left
                end = left + _width(step) + GAP
        parts += [
            f'<text class="tick" x="{left:.1f}" y="{HEIGHT - 8}">{step:,}</text>'
            for step, left in lefts.items()
        ]
        return "".join(parts)


def _width(step: int) -> float:
    """The width of a step's label, in units of a chart."""
    return DIGIT * len(f"{step:,}")
