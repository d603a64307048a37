"""A whole comparison, and how its figures and samples are put into words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from utils.comparing.leaderboard import Board, Cell, boards_of, notes_of
from utils.comparing.pairing import Difference, PairOfRuns, pairs_of
from utils.comparing.published import Published
from utils.comparing.runs import ComparedRun
from utils.contracts import Facts
from utils.errors import UserError, printable
from utils.protocol import PLATFORM_LABELS

_HOW_TO_READ = (
    "in percentage points, on the samples that both have. Interval (95 %) and p (sign flips) go by "
    "picture: samples on one picture are no independent evidence. p Holm is corrected for all "
    "comparisons of the data set's table. McNemar ignores that samples share pictures and is there "
    "for comparison with other reports."
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that is shown; notes are whole sentences."""

    runs: Sequence[ComparedRun]
    boards: Sequence[Board]
    pairs: Sequence[PairOfRuns]
    notes: Sequence[str]


def compare(
    runs: Sequence[ComparedRun], *, all_pairs: bool, published: Published | None
) -> Comparison:
    """Puts runs side by side.

    Args:
        all_pairs: every pair of runs, not only each run against the first.
        published: figures to show below one's own, or None.

    Raises:
        UserError: several runs, and no two that are paired have a sample in common.
    """
    datasets = dict.fromkeys(name for run in runs for name in run.sets)
    pairs = [pair for name in datasets for pair in pairs_of(runs, name, all_pairs=all_pairs)]
    if len(runs) > 1 and not any(pair.common for pair in pairs):
        changed = sum(pair.changed for pair in pairs)
        why = f" ({changed} have the same name and another truth)" if changed else ""
        names = ", ".join(f"{run.label} ({', '.join(run.sets)})" for run in runs)
        raise UserError(f"{names}: no sample in common{why}, so there is nothing to compare")
    notes = [note for run in runs for note in run.notes()] + notes_of(runs, published)
    return Comparison(runs, boards_of(runs, published), pairs, notes)


def how_to_read(pairs: Sequence[PairOfRuns]) -> str:
    """What stands below the tables of differences; nothing without a pair."""
    baselines = list(dict.fromkeys(pair.baseline for pair in pairs))
    if not baselines:
        return ""
    if len(baselines) == 1:
        minus = f"each run minus {baselines[0]}, the baseline (named first)"
    else:
        minus = "a run minus its baseline, the one of the two that was named earlier"
    return f"Differences are of {minus}, {_HOW_TO_READ}"


def pair_notes(pair: PairOfRuns) -> list[str]:
    """What was compared and what was left out."""
    told = [f"{counted(len(pair.common))} in common"]
    if pair.changed:
        told.append(f"{counted(pair.changed)} left out: question or truth differs between the runs")
    for name, count in ((pair.run, pair.only_in_run), (pair.baseline, pair.only_in_baseline)):
        if count:
            told.append(f"{counted(count)} only in {name}")
    return [*told, *pair.notes]


def counted(samples: int) -> str:
    """ "1 sample", "2 samples"."""
    return f"{samples} sample{'' if samples == 1 else 's'}"


def value_text(cell: Cell | None) -> str:
    """The accuracy as papers print it."""
    return "-" if cell is None else f"{cell.value:.2f}"


def interval_text(cell: Cell | None) -> str:
    """The 95 % interval, or nothing."""
    if cell is None or cell.low is None or cell.high is None:
        return ""
    return f"{cell.low:.1f}–{cell.high:.1f}"


def group_text(group: str) -> str:
    """A group for people."""
    return PLATFORM_LABELS.get(group, group)


def difference_cells(each: Difference) -> list[str]:
    """One line of a table of differences, in the order of `difference_head`."""
    interval = "-" if each.low is None else f"{each.low:+.1f} to {each.high:+.1f}"
    return [
        group_text(each.group), str(each.samples), str(each.pictures), f"{each.run_pct:.2f}",
        f"{each.baseline_pct:.2f}", f"{each.points:+.2f}", interval, p_text(each.p_value),
        p_text(each.p_holm), p_text(each.p_mcnemar), f"{each.only_run} / {each.only_baseline}",
    ]  # fmt: skip


def difference_head(run: str = "run", baseline: str = "baseline") -> list[str]:
    """The heads of a table of differences, with the names of both where there is room for them."""
    return [
        "group", "samples", "pictures", run, baseline, "difference", "95 % interval", "p",
        "p Holm", "McNemar*", f"only {run} / only {baseline} right",
    ]  # fmt: skip


MCNEMAR_NOTE = "* ignores that samples share pictures"


def p_text(p_value: float | None) -> str:
    """A p-value with three decimals."""
    if p_value is None:
        return "-"
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def truth_text(facts: Facts) -> str:
    """What is right: the option, or the target's box in percent of the picture."""
    if facts.get("answer") is not None:
        option = (facts.get("options") or {}).get(facts["answer"])
        return f"{facts['answer']}. {option}"
    box = facts.get("box_frac") or []
    return "box " + ", ".join(f"{100 * side:.1f}" for side in box) + " %"


def reply_text(facts: Facts) -> str:
    """The reply as it was parsed."""
    prediction = facts.get("prediction")
    if isinstance(prediction, str):
        return prediction
    return json.dumps(prediction, ensure_ascii=False)


def read_as_text(facts: Facts) -> str:
    """What the parse function made of a reply."""
    if facts.get("status") != "ok":
        return f"no answer ({facts.get('status')})"
    if "chosen" in facts:
        return str(facts["chosen"] or "nothing readable")
    point = facts.get("point_frac")
    return "no point" if point is None else f"point {100 * point[0]:.1f}, {100 * point[1]:.1f} %"


def one_line(text: str, width: int) -> str:
    """A text in one line, control characters as escapes, cut with an ellipsis."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= width else flat[: width - 1] + "…"
