"""How the figures and samples of a comparison are put into words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from utils.comparing.pairing import Difference
from utils.contracts import Facts
from utils.coordinates import shown_wh
from utils.errors import printable
from utils.protocol import PLATFORM_LABELS

MCNEMAR_NOTE = "* ignores that samples share images"
HOW_TO_READ = (
    "A difference is that of a run less its baseline, the one of the two that was named first, in "
    "percentage points, on the samples that both have. Interval (95 %) and p (paired test) go by "
    "image: samples on one image are no independent evidence. p Holm is corrected for all "
    "comparisons of the data set's table. McNemar is there for comparison with other reports."
)
_SPECIAL_TOKEN = re.compile(r"<\|[^|<>]*\|>")


def group_text(group: str) -> str:
    """A platform, a split or another group for people."""
    return PLATFORM_LABELS.get(group, group)


def cell_text(cell: Mapping[str, Any] | None) -> str:
    """The accuracy as papers print it, with the 95 % interval, if any, on a second line."""
    if cell is None:
        return "-"
    low, high = cell.get("low"), cell.get("high")
    interval = "" if low is None or high is None else f"\n{low:.1f}–{high:.1f}"
    return f"{cell['value']:.2f}{interval}"


def difference_head(run: str = "run", baseline: str = "baseline") -> list[str]:
    """The heads of a table of differences, with the names of both where there is room for them."""
    return [
        "group", "samples", "images", run, baseline, "difference", "95 % interval", "p",
        "p Holm", "McNemar*", f"only {run} / only {baseline} right",
    ]  # fmt: skip


def difference_cells(each: Difference) -> list[str]:
    """One line of a table of differences, in the order of `difference_head`."""
    found, (points, low, high) = each.paired, each.points
    p_values = [
        "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"
        for p in (found.p_value, each.p_holm, found.p_mcnemar)
    ]
    return [
        group_text(each.group), str(each.samples), str(found.pictures), f"{each.run_pct:.2f}",
        f"{each.baseline_pct:.2f}", f"{points:+.2f}",
        "-" if low is None else f"{low:+.1f} to {high:+.1f}", *p_values,
        f"{found.only_first} / {found.only_second}",
    ]  # fmt: skip


def truth_text(facts: Facts) -> str:
    """What is right: the option, or the target's box in percent of the image."""
    if facts.get("answer") is not None:
        return f"{facts['answer']}. {(facts.get('options') or {}).get(facts['answer'])}"
    box = facts.get("box_frac") or []
    return "box " + ", ".join(f"{100 * side:.1f}" for side in box) + " %"


def reply_text(facts: Facts) -> str:
    """The reply as it was parsed."""
    found = facts.get("prediction")
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def parsed_text(facts: Facts) -> str:
    """What the parse function made of a reply."""
    if facts.get("status") != "ok":
        return f"no answer ({facts.get('status')})"
    if "chosen" in facts:
        return str(facts["chosen"] or "unparsed")
    point = facts.get("point_frac")
    return "unparsed" if point is None else f"point {100 * point[0]:.1f}, {100 * point[1]:.1f} %"


def plain(reply: str) -> str:
    """A reply without what servers treat differently.

    Some leave special tokens in the text; vLLM leaves out a character that the token limit has
    torn, others write U+FFFD for it.
    """
    return _SPECIAL_TOKEN.sub("", reply).rstrip("\ufffd").strip()


OF_A_SAMPLE: Mapping[str, Callable[[Facts], str]] = {
    "verdict": lambda facts: str(facts.get("verdict")),
    "reply": reply_text,
    "read_as": parsed_text,
    "seen": lambda facts: shown_wh(facts.get("seen_wh")),
    "prompt_tokens": lambda facts: str((facts.get("usage") or {}).get("prompt_tokens", "unknown")),
}
"""What a file says of a sample in each run, by column."""


def one_line(text: str, width: int) -> str:
    """A text in one line, control characters as escapes, cut with an ellipsis."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= width else flat[: width - 1] + "…"
