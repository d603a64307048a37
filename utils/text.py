"""Numbers, names and texts as people read them. The standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

MOST_SIZES = 3  # of resized images, in a sentence
RESIZE, BY_RECIPE = "kwargs.resize", "by the recipe"  # what has images resized
LONGEST_NAME = 200  # characters that are compared; what is longer is no name, and takes seconds


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 problem`, `2 problems`; `plural` where an s at the end does not do."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {plural or f'{noun}s'}"


def cut(value: Any, length: int) -> str:
    """Return a text in one line of at most `length` characters, cut with an ellipsis."""
    text = " ".join(str(value).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def as_json_text(value: Any) -> str:
    """Return a value of a config as one would write it there; a text without its quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def change_text(setting: str, value: str, as_option: bool) -> str:
    """Advice on changing a setting: in the config, or by an option if there is no config file."""
    if as_option:
        return f"add --set '{setting}=\"{value}\"' to the command"
    return f'set {setting}: "{value}"'


def middle_cut(value: Any, length: int) -> str:
    """Return a text in one line of at most `length` characters, cut in the middle."""
    text = " ".join(str(value).split())
    if len(text) <= length:
        return text
    head = (length - 3) // 2
    return f"{text[:head]} … {text[len(text) - (length - 3 - head) :]}"


def file_uri(path: Path) -> str:
    """The address of a file for a browser, without `..`."""
    return Path(os.path.normpath(path.absolute())).as_uri()


def local_time(moment: str | float, form: str = "%Y-%m-%d %H:%M") -> str:
    """Return a time of this machine's zone, which it names: `2026-11-27 13:54 UTC+01:00`.

    Args:
        moment: in ISO 8601 or in seconds since 1970; a text that is no time stays as it is.
        form: of the date, for `strftime`.
    """
    try:
        if isinstance(moment, str):
            local = datetime.fromisoformat(moment).astimezone()
        else:
            local = datetime.fromtimestamp(moment).astimezone()
    except ValueError:
        return str(moment)
    zone = local.strftime("%z")
    offset = "" if zone == "+0000" else f"{zone[:3]}:{zone[3:5]}"
    return f"{local.strftime(form)} UTC{offset}"


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Return `"a", "b", "c"`, cut after `limit` names with the number of those left out."""
    text = ", ".join(f'"{name}"' for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def resized_by(kwargs: Mapping[str, Any], by_recipe: Collection[str]) -> str:
    """The cause of resizing images before sending: a key of the config, or the recipe; "": none.

    Args:
        kwargs: of the model.
        by_recipe: key paths of the settings of images that its recipe has set.
    """
    if not kwargs.get("resize"):
        return ""
    return BY_RECIPE if RESIZE in by_recipe else RESIZE


def resized_text(samples_by_sizes: Mapping[tuple[str, str], int], asked_by: str) -> str:
    """Say that images were resized before they were sent, and to what.

    Args:
        samples_by_sizes: how many samples by the sizes of the file and of the image sent.
        asked_by: what has asked for it, as of `resized_by`; "": nothing has.
    """
    total = sum(samples_by_sizes.values())
    ranked = sorted(samples_by_sizes, key=lambda sizes: (-samples_by_sizes[sizes], sizes))
    texts = [f"{file} → {sent}" for file, sent in ranked[:MOST_SIZES]]
    if len(ranked) > MOST_SIZES:
        texts.append(counted(len(ranked) - MOST_SIZES, "other size"))
    why = f" ({asked_by})" if asked_by else ""
    text = f"the images of {counted(total, 'sample')} were resized before sending{why}: "
    text += ", ".join(texts)
    if not asked_by:
        text += ". Pixels in replies are still divided by the size of the file"
    return text


def printable(text: str) -> str:
    """Return a foreign text fit for a terminal: control characters as escapes, one line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def is_blank(text: str) -> bool:
    """Whether a text has no visible character; a zero-width space is not visible."""
    return not any(char.isprintable() and not char.isspace() for char in text)


def likeness(word: str, other: str) -> float:
    """The likeness of two names, 0 to 1; case, dashes and underscores do not count."""
    first, second = (
        name[:LONGEST_NAME].lower().replace("-", "").replace("_", "") for name in (word, other)
    )
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def nearest(word: str, names: Iterable[str], at_least: float = 0.7) -> str | None:
    """Return the one of some names that `word` was probably meant as, or None."""
    best = max(names, key=lambda name: likeness(word, name), default=None)
    return best if best is not None and likeness(word, best) >= at_least else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return `; did you mean "x"?`, or nothing."""
    best = nearest(word, names)
    return "" if best is None else f'; did you mean "{best}"?'


def format_number(value: float, digits: int = 2, *, signed: bool = False) -> str:
    """Return a figure as all pages and tables have it: halves are rounded up, away from 0.

    The noise of floating point arithmetic is no reason to round down: 0.5 of 0.29 is 0.15.
    """
    exact = Decimal(repr(round(float(value), 9)))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    if not rounded:
        return f"{abs(rounded):f}"  # no "-0.0", no "+0.0"
    return f"{rounded:+f}" if signed else f"{rounded:f}"


def format_percent(value: float | None) -> str:
    """Return a score in percent as papers print it; "-" for want of one."""
    return "-" if value is None else format_number(value)


def format_amount(value: float) -> str:
    """An average amount as people read it: `2.7`, `10,000`."""
    return f"{value:,.1f}".removesuffix(".0")


def format_share(count: float, total: float) -> str:
    """Return a part of a count in percent."""
    return format_number(100 * count / total, 1)


def format_difference(points: float, low: float | None, high: float | None) -> str:
    """Return `+7.2 [2.3, 11.9]`, in percentage points; without an interval where there is none."""
    text = format_number(points, 1, signed=True)
    if low is None or high is None:
        return text
    return f"{text} [{format_number(low, 1)}, {format_number(high, 1)}]"


def format_interval(cell: Mapping[str, Any] | None) -> str:
    """Return the interval of a cell of an analysis, `20.1–62.0`; "" where it has none."""
    if cell is None or cell.get("low") is None or cell.get("high") is None:
        return ""
    between = " to " if cell["low"] < 0 else "–"
    return between.join(format_number(cell[bound], 1) for bound in ("low", "high"))
