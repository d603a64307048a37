"""The console output: progress, tables, summaries. Readable on a terminal and in a log file."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import Any, TextIO

from utils.config.options import Options
from utils.contracts import ImageChange
from utils.protocol import (
    FEWEST_PICTURES,
    IMPORTED,
    MADE_ELSEWHERE,
    PLATFORM_LABELS,
    episode_terms,
    noun_of,
    official_text,
    unit_of,
)
from utils.scoring.doubtful import SECTION as WITHOUT_DOUBTFUL
from utils.scoring.doubtful import line_of
from utils.scoring.servers import outages_text
from utils.scoring.write import Scored
from utils.subsets import shown_mode
from utils.text import (
    counted,
    format_amount,
    format_interval,
    format_percent,
    format_share,
    middle_cut,
    resized_text,
)

SECONDS_BETWEEN_LINES = 30.0
USUAL_COLUMNS = 80  # some terminals (of `script`, ssh -tt, CI) report none
NARROWEST_BAR = 5  # columns
# How many answers in how many seconds allow an estimate: the first ones contain the start of a
# browser or a checkpoint, and those of minutes each are few.
ENOUGH_FOR_ESTIMATE = ((10, 5), (3, 60))
WITHOUT_ESTIMATE = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
MOST_LEFT_OUT = 20  # lines
MOST_ERRORS = 10  # kinds shown in a summary
AVERAGES = ("overall", "micro", "macro", "mean", "without")  # names that begin so are printed
SUMMARY = {  # what is counted, and what is said of it
    "unparsed": "unparsed: counted as wrong",
    "declined": "declined: the model says that there is no such element. Right only if there is "
    "none",
    "refused": "refused by the server: counted as wrong; --retry-refused queries them again",
    "failed": "failed: counted as wrong, {fate}",
    "missing": "missing: the import has no row for them; counted as wrong",
    "spoilt": "failed in the postprocess function: counted as wrong; a repaired function needs no "
    "new requests",
    "cut_off": "cut off at the token limit ({limit})",
    "spent": "empty: the model used all its tokens before it answered (reasoning); raise {limit}",
    "retried": "needed more than one attempt",
}


class ConsoleProgress:
    """A tqdm bar on a terminal; a plain line now and then where output is piped.

    `serving` says how many of several servers serve: `7 of 8 servers`, "" where none was looked at.
    """

    def __init__(
        self,
        total: int,
        label: str,
        *,
        is_quiet: bool = False,
        unit: str = "sample",
        serving: Callable[[], str] | None = None,
    ) -> None:
        self._serving = serving
        self._total, self._label, self._unit = total, label, unit
        self._counts: Counter[str] = Counter()
        self._queried = 0
        self._began_s = time.monotonic()
        self._next_line_s = self._began_s + SECONDS_BETWEEN_LINES
        self._bar: Any = None
        self._is_quiet = is_quiet
        if sys.stderr.isatty() and not is_quiet:
            from tqdm import tqdm

            columns = columns_of(sys.stderr)
            self._bar = tqdm(
                total=total, desc=label, unit=unit, ncols=columns, bar_format=WITHOUT_ESTIMATE
            )

    def advance(self, status: str, *, reused: bool) -> None:
        """Count a finished sample, and show it."""
        self._queried += not reused
        if status == "ok":
            label = "reused" if reused else "answered"
        else:
            label = f"{status} before" if reused else str(status)
        self._counts[label] += 1
        if self._bar is not None:
            if _allow_estimate(self._queried, time.monotonic() - self._began_s):
                self._bar.bar_format = None  # tqdm's own
            self._fit_bar()
            self._bar.update()
        elif self._counts.total() < self._total and time.monotonic() >= self._next_line_s:
            self._next_line_s = time.monotonic() + SECONDS_BETWEEN_LINES
            self._print_line()

    def close(self) -> None:
        """Leave the finished bar on the screen, or the last line."""
        if self._bar is not None:
            self._bar.close()
        elif self._counts.total() == self._total:
            self._print_line()
        elif 0 < self._counts.total() < self._total:  # two ranks may have answered one sample
            answered = sum(
                self._counts[label] for label in ("answered", "reused", "by other ranks")
            )
            done = f"{self._counts.total()} of {counted(self._total, self._unit)}"
            text = f"stopped after {done}; {answered} of these have a reply"
            print(f"{self._label}: {text}", file=sys.stderr)

    def _fit_bar(self) -> None:
        """Show counts behind the bar, if there is room for all of them; else shorten the label."""
        columns = columns_of(sys.stderr)
        self._bar.ncols = columns
        self._bar.set_description(self._label, refresh=False)
        postfix: dict[str, Any] = dict(sorted(self._counts.items()))
        if self._serving is not None and (serving := self._serving()):
            postfix["serving"] = serving
        self._bar.set_postfix(postfix, refresh=False)
        if self._width_without_bar() > columns - NARROWEST_BAR:
            self._bar.set_postfix_str("", refresh=False)
        too_long = self._width_without_bar() - (columns - NARROWEST_BAR)
        if too_long > 0:
            length = max(1, len(self._label) - too_long - 1)
            self._bar.set_description(f"{self._label[:length]}…", refresh=False)

    def _width_without_bar(self) -> int:
        bar_format = (self._bar.bar_format or "{l_bar}{r_bar}").replace("{bar}", "")
        texts = self._bar.format_dict | {"ncols": None, "bar_format": bar_format}
        return len(self._bar.format_meter(**texts))

    def _print_line(self) -> None:
        if self._is_quiet:
            return
        parts = ", ".join(f"{count} {name}" for name, count in sorted(self._counts.items()))
        if self._serving is not None and (serving := self._serving()):
            parts += f"; {serving} serve"
        took_s, done = time.monotonic() - self._began_s, self._counts.total()
        speed = pace(self._queried, took_s, self._total - done)
        print(f"{self._label}: {done}/{self._total} ({parts}){speed}", file=sys.stderr, flush=True)


def columns_of(terminal: TextIO) -> int:
    """Return the width of a terminal; `USUAL_COLUMNS` where it does not know it."""
    columns = 0
    with suppress(OSError, ValueError):
        columns = os.get_terminal_size(terminal.fileno()).columns
    return columns or USUAL_COLUMNS


def pace(done: int, took_s: float, remaining: int) -> str:
    """The speed, and the time that is left once that can be told.

    Nothing of a run that was over at once.
    """
    if not done or took_s < 1:
        return ""
    rate = done / took_s
    shown_rate = f"{rate:.1f} a second" if rate >= 1 else f"{1 / rate:.1f} s each"
    if not remaining or not _allow_estimate(done, took_s):
        return f", {shown_rate}"
    return f", {shown_rate}, about {duration(remaining / rate)} left"


def _allow_estimate(done: int, took_s: float) -> bool:
    return any(done >= count and took_s >= seconds for count, seconds in ENOUGH_FOR_ESTIMATE)


def duration(seconds: float) -> str:
    """Return a time for people: `40 s`, `12 min`, `3 h 05 min`."""
    if seconds < 59.5:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def show_left_out(bad: Sequence[str], limit: int | None) -> None:
    """Print the samples that are not asked, all or, where a log has them all, at limit so many."""
    for line in bad[:limit]:
        print(f"left out: {line}")
    if limit is not None and len(bad) > limit:
        print(f"left out: {len(bad) - limit} more; the log has them all")


def queried_line(dataset: str, reasons: Counter[str], reused: int) -> str:
    """Return in one line how many samples were queried, and why."""
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    return f"{dataset}: queried {reasons.total()}{f' ({why})' if why else ''}, reused {reused}"


def tokens_text(tokens: Mapping[str, int]) -> str:
    """Token counts in words."""
    return f"{tokens['prompt_tokens']:,} + {tokens['completion_tokens']:,} (prompt + completion)"


def render_table(
    section: Mapping[str, Any], model: str, samples: int, *, note: str = "", unit: str = "image"
) -> str:
    """Return a table as text, intervals under each row that has one.

    Args:
        section: "table" of an analysis: title, columns, rows of cells.
        unit: what the intervals go by, if the section does not say it.
    """
    unit = section.get("clusters", unit)
    heads = [PLATFORM_LABELS.get(column, column) for column in section["columns"]]
    rows = [[" " * 10, *(f"{head:>8}" for head in heads)]]
    has_ranges = False
    for row in section["rows"]:
        values = (None if cell is None else cell["value"] for cell in row["cells"])
        rows.append([row["name"], *map(format_percent, values)])
        ranges = [*map(format_interval, row["cells"])]
        if any(ranges):
            rows.append(["  95 %", *ranges])
            has_ranges = True
    meaning = section.get("unit", "accuracy in %")
    if has_ranges:
        meaning += f", 95 % intervals by {unit}"
    lines = [f"{section['title']} · {model} · {meaning} · n = {samples}{note}", *grid(rows)]
    if not has_ranges:
        lines.append(
            f"no 95 % intervals in the table: fewer than {FEWEST_PICTURES} {unit}s per cell"
        )
    return "\n".join(lines)


def grid(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return rows with aligned columns, the first one to the left, and a line below the head.

    A line break in a cell stacks two texts.
    """
    split = ((cell.split("\n") for cell in row) for row in rows)
    stacked = [line for cells in split for line in zip_longest(*cells, fillvalue="")]
    widths = [max(map(len, column)) for column in zip(*stacked, strict=True)]
    shapes = "  ".join([f"{{:<{widths[0]}}}", *(f"{{:>{width}}}" for width in widths[1:])])
    lines = [shapes.format(*line).rstrip() for line in stacked]
    return [lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]]


def render_rows(section: Mapping[str, Any]) -> str:
    """Return a section of plain rows as a table; None is a dash."""
    names = list(dict.fromkeys(name for row in section["rows"] for name in row))
    heads = ["", *names[1:]]
    rows = [
        [str(row["name"]), *(_plain(row.get(name)) for name in names[1:])]
        for row in section["rows"]
    ]
    return "\n".join([section["title"], *grid([heads, *rows])])


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def render_averages(section: Mapping[str, Any]) -> str:
    """Return overall, micro and macro averages with intervals, in one line."""
    parts = []
    for name, cell in section.items():
        if name.partition(" ")[0] in AVERAGES and cell is not None:
            bounds = format_interval(cell)
            interval = f" ({bounds})" if bounds else ""
            parts.append(f"{name} {format_percent(cell['value'])}{interval}")
    return "averages: " + (", ".join(parts) or "-")


def render_costs(section: Mapping[str, Any]) -> str:
    """The cost of episodes and successes, a line each; what is not known is left out."""
    lines = []
    for row in section["rows"]:
        parts = [
            f"{name} {format_amount(value)}"
            for name, value in row.items()
            if name != "name" and value is not None
        ]
        if parts:
            lines.append(f"cost {row['name']}: {', '.join(parts)}")
    return "\n".join(lines)


def show_scored(scored: Scored, model: str, options: Options) -> None:
    """Print what came of scoring one data set."""
    analysis = scored.analysis
    total = scored.scorer.counts["samples"]
    unit = unit_of(analysis["head"]["level"])
    note = _what_was_scored(analysis)
    if scored.no_score:
        print(f"\n{analysis['table']['title']} · {model} · no score: {scored.no_score}{note}")
    else:
        print("\n" + render_table(analysis["table"], model, total, note=note, unit=unit))
        if unit == "task":
            print("\n".join(episode_terms([row["name"] for row in analysis["table"]["rows"]])))
        if unit == "image":  # of episodes the table has it
            print(render_averages(analysis["averages"]))
        if cost := analysis.get("cost"):
            print(render_costs(cost))
        if official := official_text(analysis):
            print(f"official figure: {official}")
        if without_doubtful := analysis.get(WITHOUT_DOUBTFUL):
            print(line_of(without_doubtful))
    print("\n".join([*_summary(scored, options), *scored.notes]))
    _show_more_tables(scored, model, options, note)
    for finding in scored.findings:
        print(f"{finding.severity}: {model}, {analysis['head']['dataset']}: {finding}")


def _show_more_tables(scored: Scored, model: str, options: Options, note: str) -> None:
    """Print the tables beside that of the score: all rules, repeats, rotations, the judge."""
    analysis = scored.analysis
    total = scored.scorer.counts["samples"]
    unit = unit_of(analysis["head"]["level"])
    if (rules := analysis.get("rules")) and not scored.no_score:
        print("\n" + render_rows(rules))
    repeats = analysis.get("repeats")
    if repeats and not scored.no_score:
        print("\n" + render_table(repeats["table"], model, repeats["questions"], unit=unit))
        print("\n".join(repeats["notes"]))
    if circular := analysis.get("circular"):
        questions = max((row["questions"] for row in circular["rows"]), default=0)
        print("\n" + render_table(circular["table"], model, questions, note=note))
        errors = scored.rotation_scorer.errors if scored.rotation_scorer is not None else {}
        print("\n".join([*circular["notes"], *_error_lines(errors, options)]))
    if judged := analysis.get("judge"):
        if "table" in judged:
            print("\n" + render_table(judged["table"], model, total, note=note))
        else:
            title = f"{analysis['table']['title']} with the judge"
            print(f"\n{title} · {model} · no score: {judged['no_score']}{note}")
        print("\n".join(judged["notes"]))


def _what_was_scored(analysis: Mapping[str, Any]) -> str:
    """The addition to the model in a title: how often it was asked, the mode, the protocol."""
    head, repeats = analysis["head"], analysis.get("repeats")
    note = f" ({_repeats_text(repeats, head['level'])})" if repeats else ""
    if mode := shown_mode(head["mode"]):
        note += f" · {mode} only"
    if head["partial"]:
        note += " (partial)"
    if "protocol" in head and head["protocol"] != IMPORTED:
        note += f" · {head['protocol']}"
    if IMPORTED in head:
        note += f" · {MADE_ELSEWHERE}"
    return note


def _repeats_text(section: Mapping[str, Any], level: str) -> str:
    """Say how often each question was asked, or each task played."""
    is_acting = unit_of(level) == "task"
    what, of_what = ("episodes of", "task") if is_acting else ("answers to", "question")
    return f"{section['answers']} {what} each of {counted(section['questions'], of_what)}"


def _summary(scored: Scored, options: Options) -> list[str]:
    """The counts behind the numbers: answered, unparsed, failed, cut off, errors."""
    counts, total = scored.scorer.counts, scored.scorer.counts["samples"]
    is_look = options.look is not None
    is_rescoring = options.mode == "eval" and not is_look
    how = "without --mode eval" if is_rescoring else "by the same command"
    fate = "left as they are (--ignore)" if options.ignore else f"queried again {how}"
    if IMPORTED in scored.analysis:
        fate = "as the imported file has it"
    lines = [f"{counts['answered']} of {total} have a reply"]
    for name, text in SUMMARY.items():
        if count := counts[name]:
            meaning = text.format(fate=fate, limit=scored.scorer.token_limit)
            lines.append(f"  {count} ({format_share(count, total)} %) {meaning}")
        if name == "unparsed":
            examples = [middle_cut(repr(reply), 90) for reply in scored.scorer.unparsed]
            lines += [f"    such as {example}" for example in dict.fromkeys(examples)]
    if counts["completion_tokens"]:
        of_rotations = scored.rotation_scorer.counts if scored.rotation_scorer is not None else {}
        prompt, completion = (
            counts[kind] + of_rotations.get(kind, 0)
            for kind in ("prompt_tokens", "completion_tokens")
        )
        of_all = {"prompt_tokens": prompt, "completion_tokens": completion}
        lines.append(f"  tokens: {tokens_text(of_all)}")
    if scored.missing:
        noun = noun_of(scored.analysis["head"]["level"])
        has, them = ("has", "it") if scored.missing == 1 else ("have", "them")
        what = f"{counted(scored.missing, noun)} of this run {has} not been queried yet"
        if "repeats" in scored.analysis:
            questions = counted(scored.missing, "question")
            what = f"{questions} of this run left out: some answers are still missing"
        again = "the same command without --mode eval" if is_rescoring else "the same command"
        ending = "" if is_look else f"; {again} queries {them}"
        lines.append(f"{what}{ending}")
    if scored.scorer.resized:
        lines.append(resized_text(scored.scorer.resized, scored.scorer.resized_by))
    lines += image_notes({change: counts[f"image_{change}"] for change in ImageChange})
    return lines + _error_lines(scored.scorer.errors, options)


def server_lines(servers: Sequence[Mapping[str, Any]], wall_s: float) -> list[str]:
    """Lines on the work of several servers: of all together, then of each.

    Args:
        servers: the rows of the record at a run's end.
        wall_s: the duration of the run.
    """
    queried = [row for row in servers if row["answers"] or row["moved"] or row["reason"]]
    answers = sum(row["answers"] for row in servers)
    if not answers:
        return [f"{row['server']} {row['state']}: {row['reason']}" for row in queried]
    busy = [row for row in servers if row["answers"]]
    rates = [row["answers"] / max(row["serving_s"], 0.1) for row in busy]
    who = counted(len(queried), "server")
    if len(busy) < len(queried):
        who = f"{len(busy)} of {who} with answers"
    head = (
        f"{who}, {counted(answers, 'answer')} in {wall_s:.1f} s "
        f"({answers / max(wall_s, 0.1):.1f} answers/s"
    )
    if len(busy) > 1:
        slowest, fastest = f"{min(rates):.1f}", f"{max(rates):.1f}"
        span = slowest if slowest == fastest else f"{slowest} to {fastest}"
        head += f"; each server {span} answers/s while it served"
    return [f"{head})", *map(_server_line, queried)]


def _server_line(row: Mapping[str, Any]) -> str:
    parts = [f"{row['answers']} answered"]
    if row["answers"]:
        parts.append(f"median {row['latency_median_s']} s, 95 % under {row['latency_p95_s']} s")
    if row["moved"]:
        parts.append(f"{counted(row['moved'], 'request')} went to another server after a failure")
    if outages := outages_text(row):
        parts.append(outages)
    if row["reason"]:
        parts.append(f"{row['state']}: {row['reason']}")
    return f"  {row['server']}: {'; '.join(parts)}"


def image_notes(counts: Mapping[ImageChange, int]) -> list[str]:
    """Say of how many samples the image is sent otherwise than the file has it."""
    texts = {
        ImageChange.ORIENTATION: "is sent without its orientation tag: the model sees it as "
        "stored, as the annotations do",
        ImageChange.PNG: "is sent as a PNG of its first frame: hosted servers refuse its format, "
        "or animations",
    }
    return [
        f'{counted(counts[change], "sample")}: the image {text} (kwargs.image_format "original" '
        "sends the file's bytes)"
        for change, text in texts.items()
        if counts[change]
    ]


def _error_lines(errors: Mapping[str, tuple[int, str]], options: Options) -> list[str]:
    """Return the most frequent errors with their counts, with `--verbose` a traceback of each."""
    by_count = sorted(errors.items(), key=lambda item: -item[1][0])
    lines = []
    for kind, (count, trace) in by_count[:MOST_ERRORS]:
        lines.append(f"{count} x {kind}")
        if options.verbose and trace:
            lines.append(trace.rstrip())
    if not options.verbose and any(trace for _, (_, trace) in by_count):
        lines.append("(--verbose shows the place in the code)")
    if len(by_count) > MOST_ERRORS:
        lines.append(
            f"and {len(by_count) - MOST_ERRORS} other kinds of errors; the log has them all"
        )
    return lines
