"""Puts a comparison in words: its figures, its samples, and the text for the console."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from utils.comparing.boards import Board
from utils.comparing.pairing import Comparison, Difference, PairOfRuns, SamplePair
from utils.comparing.ranking import Ranking, rankings_of
from utils.comparing.runs import right_text
from utils.contracts import Facts
from utils.coordinates import format_size
from utils.protocol import PLATFORM_LABELS, noun_of_question, title_of
from utils.scoring.console import grid
from utils.text import (
    counted,
    cut,
    format_difference,
    format_interval,
    format_number,
    format_percent,
    printable,
)

WIDTH = 100  # of the console's text, in columns
LETTERS = ("A", "B")  # of the two sides of a comparison
_LONGEST_NAME = 40  # of a run in a table; in a headline half of it
_SHORTEST_RANKED = 16  # in a table of many runs; rather than cut names more, figures are left out
_HOW_TO_READ = (
    "A difference is {} in percentage points, on the samples in common. Intervals (95 %) and p are "
    "by image; for recorded steps they are by episode, and for episodes by task. Samples of one "
    "image are not independent evidence. p comes from the more conservative of two tests. "
)
HOW_TO_READ = (
    _HOW_TO_READ.format("B minus A,")
    + "The tests of groups are corrected for multiple testing (Holm), those of official figures "
    "are not."
)
HOW_TO_READ_MANY = (
    _HOW_TO_READ.format("a run minus the first one,")
    + "All tests are corrected for multiple testing (Holm): an official figure for all tested "
    "pairs of runs, a group for all groups and pairs."
)
_SPECIAL_TOKEN = re.compile(r"<\|[^|<>]*\|>")


def group_text(group: str) -> str:
    """Return the name of a platform, a split or another group for people."""
    return PLATFORM_LABELS.get(group) or group.replace("_", " ")


def heads_of(board: Board) -> list[str]:
    """The heads of a board's columns; rules keep their names."""
    return [*board.columns] if board.rule else [*map(group_text, board.columns)]


def cell_text(cell: Mapping[str, Any] | None) -> str:
    """Return the accuracy as papers print it, and the 95 % interval, if any, on a second line."""
    value = None if cell is None else cell["value"]
    return "\n".join(filter(None, [format_percent(value), format_interval(cell)]))


def p_text(p: float | None) -> str:
    """Return a p-value with three digits."""
    if p is None:
        return "-"
    return "<0.001" if p < 0.001 else format_number(p, 3)


def truth_text(facts: Facts) -> str:
    """The right answer: an option, a text, a recorded action, an episode's checks, or a box."""
    if facts.get("answer") is not None:
        return f"{facts['answer']}. {(facts.get('options') or {}).get(facts['answer'])}"
    if "step" in facts:
        return str(facts["step"]["recorded"])
    if "expected" in facts:
        return str(facts["expected"] or "not stored")
    if "checks" in facts:
        return "; ".join(text for _, text in facts["checks"])
    box = facts.get("box_frac")
    if box is None:
        return "there is no such element"
    if facts.get("target"):
        return "inside " + ", ".join(facts["target"]).replace("polygons", "a polygon")
    return "box " + ", ".join(f"{100 * side:.1f}" for side in box) + " %"


def truth_of(pair: SamplePair) -> str:
    """The right answer to a sample of two runs; a failed episode does not have it."""
    return truth_text(pair.run) or truth_text(pair.baseline)


def reply_text(facts: Facts) -> str:
    """Return the reply as it was parsed."""
    reply = facts.get("prediction")
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def function_error_text(facts: Facts, stage: str) -> str:
    """Say how the user's function of a stage ("postprocess", "parse") failed; "" if it did not."""
    error = facts.get("error") or {}
    if error.get("class") != f"{stage} function":
        return ""
    return f"the {stage} function {error.get('message')}"


def processed_text(facts: Facts) -> str:
    """Return the reply as the postprocess function left it, or how that function failed."""
    return function_error_text(facts, "postprocess") or plain(reply_text(facts))


def parsed_text(facts: Facts) -> str:
    """The result of the parse function for a reply, or the end of an episode."""
    if facts.get("status") != "ok":
        return f"no answer ({facts.get('status')})"
    for stage in ("postprocess", "parse"):
        if failure := function_error_text(facts, stage):
            return failure
    if "chosen" in facts:
        return str(facts["chosen"] or "unparsed")
    if "step" in facts:
        return str(facts["step"]["answer"] or "unparsed")
    if "answered" in facts:
        return str(facts["answered"] or "unparsed")
    if "ended" in facts:
        return f"{facts['ended']} after {counted(facts['steps'], 'step')}"
    if facts.get("declined"):
        return "not there"
    point = facts.get("point_frac")
    return "unparsed" if point is None else f"point {100 * point[0]:.1f}, {100 * point[1]:.1f} %"


def plain(reply: str) -> str:
    """Return a reply without what servers treat differently.

    Some leave special tokens in the text; vLLM leaves out a character that the token limit has
    torn, others write U+FFFD for it.
    """
    return _SPECIAL_TOKEN.sub("", reply).rstrip("\ufffd").strip()


OF_A_SAMPLE: Mapping[str, Callable[[Facts], str]] = {
    "verdict": lambda facts: str(facts.get("verdict")),
    "reply": reply_text,
    "read_as": parsed_text,
    "seen": lambda facts: format_size(facts.get("seen_wh")),
    "prompt_tokens": lambda facts: str((facts.get("usage") or {}).get("prompt_tokens", "unknown")),
}
"""Texts about a sample in one run, by column of a table."""


def number_and_id(facts: Facts) -> str:
    """The number of a sample, and the id that its data file gives it, if that is another.

    The pages say the same: `#16 (id dish-17)`.
    """
    number, own_id = str(facts.get("index")), str(facts["id"])
    return f"#{number}" if number == own_id else f"#{number} (id {own_id})"


def one_line(text: str, width: int = sys.maxsize) -> str:
    """Return a text in one line, control characters as escapes, cut with an ellipsis."""
    return cut(printable(" ".join(text.split())), width)


# -- for the console -------------------------------------------------------------------------------


def as_text(comparison: Comparison, *, flips: int) -> str:
    """Return the comparison with the first `flips` flipped samples of each kind."""
    lines = [*_scores(comparison), *_notes(comparison)]
    if comparison.has_many:
        lines += ["", *wrapped(HOW_TO_READ_MANY)]
    else:
        for pair in comparison.pairs:
            lines += _pair(pair, flips)
        if comparison.pairs:
            lines += ["", *wrapped(HOW_TO_READ)]
    return "\n".join(map(printable, lines)).strip() + "\n"


def closing_text(comparison: Comparison) -> str:
    """Return the end of a run of several models: scores, notes and the headline of each pair."""
    lines = [*_scores(comparison), *_notes(comparison)]
    if not comparison.has_many:
        for pair in comparison.pairs:
            lines += ["", *_head(pair)]
    return "\n".join(map(printable, lines)).strip() + "\n"


def _scores(comparison: Comparison) -> list[str]:
    if comparison.has_many:
        return [line for ranking in rankings_of(comparison) for line in _ranking(ranking)]
    lines = [line for board in comparison.summary for line in _board(board)]
    for boards in boards_by_rule(comparison.boards).values():
        lines += _board_by_rule(boards[0])  # the success rates; the files have the others
    return lines


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield what a reader must know about the runs."""
    if comparison.notes:
        yield from ("", "Notes")
    for note in comparison.notes:
        yield from wrapped(note, 2)


def _ranking(ranking: Ranking) -> Iterator[str]:
    """Yield the one table of many runs: scores, and differences from the first run."""
    board = ranking.board
    yield ""
    yield from wrapped(
        f"{board.title} · {measure_of(board)} in %, sorted by {group_text(board.main)}; A is "
        f"{_brief(ranking.baseline, _LONGEST_NAME)}"
    )
    rows = _ranked_cells(ranking, board.others)
    if _room_for_names(rows) < _SHORTEST_RANKED:  # the other figures are in the files
        rows = _ranked_cells(ranking, [])
    room = min(_room_for_names(rows), _LONGEST_NAME)
    lines = [["", *rows[0]]]
    for position, (run, cells) in enumerate(zip(ranking.runs, rows[1:], strict=True), 1):
        name = f"{position:>2} {_brief(run.row.name, room)} {run.row.mark[:1]}"
        lines.append([name.rstrip(), *cells])
    yield from grid(lines)
    for note in ranking.notes:
        yield from wrapped(note, 2)


def _ranked_cells(ranking: Ranking, others: Sequence[str]) -> list[list[str]]:
    """Return the heads and rows of a ranking without names; `others`: figures before the main."""
    main = ranking.board.main
    heads = [*map(group_text, others), group_text(main), "[95 %]", "− A [95 %]", "p (Holm)"]
    if ranking.has_all_pairs:
        heads.append("better/worse than")
    rows = [heads]
    for run in ranking.runs:
        cells = [format_percent(run.row.score(name)) for name in [*others, main]]
        cells.append(format_interval(run.row.cells.get(main)))
        difference = run.difference
        if difference is not None:
            cells += [format_difference(*difference.points), p_text(difference.p_value)]
        else:
            cells += ["A" if run.row.name == ranking.baseline else "", ""]
        if ranking.has_all_pairs:
            is_run = not run.row.is_published
            cells.append(f"{run.better_than} / {run.worse_than}" if is_run else "")
        rows.append(cells)
    return rows


def _room_for_names(rows: Sequence[Sequence[str]]) -> int:
    """The greatest length of a name beside these cells; position and mark need room, too."""
    columns = zip(*rows, strict=True)
    return WIDTH - 5 - sum(max(map(len, column)) + 2 for column in columns)


def _brief(text: str, width: int) -> str:
    """Return a text in one line, of a long one both ends.

    They tell two names apart, and a reply has its answer at its end.
    """
    text = one_line(text)
    if len(text) <= width:
        return text
    end = width // 2
    return f"{text[: width - end - 1]}…{text[-end:]}"


def _board(board: Board) -> Iterator[str]:
    yield ""
    yield f"{board.title} · {measure_of(board)} in %, 95 % interval below where there is one"
    lines = [["", *(group_text(name) for name in board.columns)]]
    for row in board.rows:
        name = f"{_brief(row.name, _LONGEST_NAME)} {row.mark[:1]}".rstrip()
        lines.append([name, *(cell_text(row.cells.get(column)) for column in board.columns)])
    yield from grid(lines)


def boards_by_rule(boards: Iterable[Board]) -> dict[str, list[Board]]:
    """The boards of figures by every rule, by data set; the success rates come first."""
    by_dataset: dict[str, list[Board]] = {}
    for board in boards:
        if board.rule:
            by_dataset.setdefault(board.dataset, []).append(board)
    return by_dataset


def _board_by_rule(board: Board) -> Iterator[str]:
    """Yield the table with a line for each rule, since there are more rules than runs."""
    yield ""
    yield f"{board.title}, in %"
    names = [row.name for row in board.rows]
    room = (WIDTH - max(map(len, board.columns)) - 2 * len(names)) // len(names)
    lines = [["", *_heads_of_runs(names, room)]]
    for rule in board.columns:
        lines.append([rule, *(format_percent(row.score(rule)) for row in board.rows)])
    yield from grid(lines)


def _heads_of_runs(names: Sequence[str], room: int) -> list[str]:
    """The names of runs as heads of columns: of long ones both ends, which tell two apart."""
    brief = [_brief(name, max(_LONGEST_NAME // 2, room)) for name in names]
    if len(set(brief)) == len(names):
        return brief
    return [f"{letter}: {text}" for letter, text in zip(LETTERS, brief, strict=False)]


def measure_of(board: Board) -> str:
    """The measure of the scores of a board."""
    if board.rule:
        return "the same answers"
    is_acting = any(name.startswith("SR ") for name in board.columns)
    return "SR and EQA*" if is_acting else "accuracy"


def _pair(pair: PairOfRuns, flips: int) -> Iterator[str]:
    yield ""
    yield from _head(pair)
    if pair.subgroups:
        yield ""
        yield "Groups; p is corrected for all tests of groups on this data set (Holm)"
        yield from _table(pair.subgroups, pair.unit)
    for winner, loser, samples in pair.flips_by_winner:
        yield ""
        count = counted(len(samples), noun_of_question(pair.level))
        yield from wrapped(f"{winner} right, {loser} wrong: {count}")
        for sample in samples[:flips]:
            yield from _flip(sample)
        if len(samples) > flips:
            yield f"  and {len(samples) - flips} more"


def _head(pair: PairOfRuns) -> Iterator[str]:
    """Yield `average: new − old = +7.2 [2.3, 11.9]`, which run is A, the official figures."""
    run, baseline = (one_line(name, _LONGEST_NAME // 2) for name in (pair.run, pair.baseline))
    if run == baseline:  # what sets them apart was cut off
        run, baseline = "B", "A"
    title = title_of(pair.level, pair.dataset)
    if pair.headline:
        main = pair.headline[-1]
        basis = f" on the {main.samples:,} in common" if pair.has_part else ""
        difference = format_difference(*main.points)
        yield f"{title} · {main.group}: {run} − {baseline} = {difference}{basis}"
    else:
        yield f"{title}: {run} − {baseline}"
    sides = f"A: {pair.baseline} (baseline), B: {pair.run}"
    yield from wrapped("; ".join([sides, *pair.notes]), 2)
    if pair.headline:
        yield from _table(pair.headline, pair.unit)
    for doubt in pair.doubt_texts:
        yield from wrapped(doubt, 2)


def _table(differences: Sequence[Difference], unit: str) -> list[str]:
    heads = ["", "n", f"{unit}s", "A", "B", "B − A [95 %]", "p", "only A / only B right"]
    rows = [
        [
            group_text(one_line(difference.group, 20)),
            str(difference.samples),
            str(difference.paired.pictures),
            format_number(difference.baseline_pct),
            format_number(difference.run_pct),
            format_difference(*difference.points),
            p_text(difference.p_value),
            f"{difference.paired.only_second} / {difference.paired.only_first}",
        ]
        for difference in differences
    ]
    return grid([heads, *rows])


def _flip(flip: SamplePair) -> Iterator[str]:
    facts = flip.run
    name = facts["key"] if facts.get("id") is None else number_and_id(facts)
    groups = [facts.get("platform"), facts.get("split")]
    label = ", ".join(str(part) for part in [*groups, name] if part is not None)
    room = max(20, WIDTH - 6 - len(label))
    yield f"  {one_line(str(flip.text), room)}  [{label}]"
    yield f"      {one_line(f'right: {truth_of(flip)}', WIDTH - 6)}"
    for side, facts_of_side in (("A", flip.baseline), ("B", flip.run)):
        right = right_text(facts_of_side)
        head = f"{side} ({right} right)" if right else side
        yield f"      {head}: {_reply_and_reading(facts_of_side, WIDTH - 8 - len(head))}"


def _reply_and_reading(facts: Facts, room: int) -> str:
    """Return a reply and, where it is not the same, what was read from it."""
    parsed = one_line(parsed_text(facts), 40)
    if one_line(reply_text(facts)) == parsed:
        return parsed
    parsed = f", read as: {parsed}"
    return _brief(reply_text(facts), room - len(parsed)) + parsed


def wrapped(text: str, indent: int = 0) -> list[str]:
    """Return a text in lines of the console's width, broken at words, items of a list set off."""
    return textwrap.wrap(
        printable(" ".join(text.split())),
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2 if indent else 0),
        break_on_hyphens=False,
    )
