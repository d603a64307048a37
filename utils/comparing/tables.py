"""Score tables of several runs for papers: Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from utils.comparing.boards import (
    NOT_COMPARABLE,
    OTHER_MARK,
    PARTIAL_MARK,
    PUBLISHED_MARK,
    REMARK_MARK,
    Board,
    Row,
)
from utils.comparing.pairing import Comparison
from utils.comparing.words import group_text, heads_of, measure_of, one_line
from utils.errors import UserError
from utils.text import format_interval, format_percent, listed

NOTES = {PARTIAL_MARK: "part of the data set", PUBLISHED_MARK: "published"}
LATEX_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    PARTIAL_MARK: r"$^\ddagger$",
    PUBLISHED_MARK: r"$^\dagger$",
    OTHER_MARK: r"\P{}",
    REMARK_MARK: r"$\|$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def as_markdown(comparison: Comparison, *, intervals: bool, columns: Sequence[str] = ()) -> str:
    """Return a table for each board, the best of each column in bold.

    Args:
        comparison: its boards.
        intervals: behind the scores, too.
        columns: names of those to show, of `with_columns`.
    """
    parts: list[str] = []
    for board in with_columns(comparison.boards, columns):
        interval = " [{}]" if intervals else ""
        rows = _rows(board, lambda text: f"**{text}**", interval, _markdown)
        heads = ["model", *heads_of(board)]
        lines = [heads, ["---", *["---:"] * len(board.columns)], *rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        note = f"\n\n{notes}" if (notes := _notes(board)) else ""
        parts.append(f"### {board.title} ({measure_of(board)} in %)\n\n{table}{note}\n")
    return "\n".join(parts)


def as_latex(comparison: Comparison, *, intervals: bool, columns: Sequence[str] = ()) -> str:
    """Return the same as tables of the package booktabs, each with a label."""
    parts = ["% \\usepackage{booktabs}\n"]
    boards = with_columns(comparison.boards, columns)
    for board, label in zip(boards, _labels(boards), strict=True):
        rows = _rows(
            board,
            lambda text: f"\\textbf{{{text}}}",
            r" {{\scriptsize [{}]}}" if intervals else "",
            latex,
        )
        heads = ["model", *heads_of(board)]
        caption = f"{board.title} ({measure_of(board)} in %)"
        if intervals:
            caption += ", with 95 % intervals"
        if notes := _notes(board):
            caption += f". {notes}"
        body = "\n".join(f"    {' & '.join(row)} \\\\" for row in rows)
        parts.append(
            "\\begin{table}\n  \\centering\n"
            f"  \\caption{{{latex(caption)}}}\n  \\label{{{label}}}\n"
            f"  \\begin{{tabular}}{{l{'r' * len(board.columns)}}}\n    \\toprule\n"
            f"    {' & '.join(map(latex, heads))} \\\\\n    \\midrule\n{body}\n    \\bottomrule\n"
            "  \\end{tabular}\n\\end{table}\n"
        )
    return "\n".join(parts)


def with_columns(boards: Sequence[Board], names: Sequence[str]) -> list[Board]:
    """Return boards with the columns of these names alone, in their order; all without names.

    A column has its name of the score table or the one that people read: "os_web" or "Web",
    whatever the case. Boards that have none of them are left out.

    Raises:
        UserError: no board has a column of some name.
    """
    if not names:
        return list(boards)
    column_names = {name for board in boards for column in board.columns for name in _names(column)}
    unknown = [name for name in names if name.casefold() not in column_names]
    if unknown:
        heads = dict.fromkeys(group_text(column) for board in boards for column in board.columns)
        raise UserError(
            f"--columns: no table has {listed(unknown)}; columns are {listed([*heads], 40)}"
        )
    chosen: list[Board] = []
    for board in boards:
        by_name = {name: column for column in board.columns for name in _names(column)}
        columns = [by_name[name.casefold()] for name in names if name.casefold() in by_name]
        if columns:
            chosen.append(board._replace(columns=columns))
    return chosen


def _names(column: str) -> set[str]:
    return {column.casefold(), group_text(column).casefold()}


def _labels(boards: Sequence[Board]) -> list[str]:
    """The names by which a paper refers to tables: `tab:guielementgrounding-basic`.

    Letters of other scripts are left out, because not every LaTeX takes them. Labels that are then
    equal are numbered.
    """
    labels: list[str] = []
    for board in boards:
        words = re.findall(r"[a-z0-9]+", f"{board.dataset} {board.split}".lower())
        name = label = f"tab:{'-'.join(words) or 'table'}"
        number = 2
        while label in labels:
            label = f"{name}-{number}"
            number += 1
        labels.append(label)
    return labels


def _markdown(text: str) -> str:
    """Return a text in which Markdown finds no cell, no emphasis and no HTML."""
    return re.sub(r"([\\`*_|<\[\]])", r"\\\1", text)


def latex(text: str) -> str:
    """Return a text as LaTeX writes it."""
    return "".join(LATEX_SIGNS.get(char, char) for char in text)


def _rows(
    board: Board,
    bold: Callable[[str], str],
    interval: str,
    escaped: Callable[[str], str],
) -> list[list[str]]:
    """Return names and scores.

    Args:
        board: the table.
        bold: what is done to the best score of a column.
        interval: holds an interval behind a score; "" for none.
        escaped: what is done to every text.
    """
    best = {column: _best(board.rows, column) for column in board.columns}
    rows: list[list[str]] = []
    for row in board.rows:
        cells = [escaped(f"{one_line(row.name)} {row.mark[:1]}".rstrip())]
        for column in board.columns:
            score = format_percent(row.score(column))
            is_best = score == best[column] and NOT_COMPARABLE not in row.mark
            text = bold(score) if is_best else score
            bounds = format_interval(row.cells.get(column))
            cells.append(text + interval.format(escaped(bounds)) if bounds else text)
        rows.append(cells)
    return rows


def _best(rows: Sequence[Row], column: str) -> str | None:
    """Return the highest score of a column as it is printed; None of fewer than two."""
    values = [row.score(column) for row in rows if NOT_COMPARABLE not in row.mark]
    scores = [value for value in values if value is not None]
    return format_percent(max(scores)) if len(scores) > 1 else None


def _notes(board: Board) -> str:
    """The legend of the marks of a board; "" without any."""
    signs: dict[str, dict[str, None]] = {}
    for row in board.rows:
        if row.mark:
            text = row.mark[2:] or NOTES[row.mark[0]]
            signs.setdefault(row.mark[0], {})[text] = None
    return "; ".join(f"{sign} {' or '.join(texts)}" for sign, texts in signs.items())
