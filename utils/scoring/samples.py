"""The facts about each scored sample: one JSON line each, derived from the log.

`<model>_<dataset>_samples.jsonl` lies beside the score file and says the same thing sample by
sample. Reports, comparisons, audits and notebooks read it, so none of them runs a user's functions
again. Its first line is a head, every other line one sample:

key, repeat                  of which question; where each is asked several times, the number of
                             this answer, from 1, which keys of later ones end in: `<key>+2`
index, image                 which sample; image is relative to the image root, and with `platform`
                             tells one picture from another (intervals and tests go by picture)
platform, app, split, kind   groups: split is the difficulty or grounding type, kind the
                             type of element ("icon", "text")
text                         the question or instruction
status, verdict, hit         "ok" | "refused" | "failed" | "missing" (an import has no row for it);
                             "hit" | "miss" | "unparsed", None without an answer; 1 or 0, as the
                             score counts it
prediction, raw, reasoning   the reply as it was parsed (or what is shown for a failed request), the
                             reply as it came where that differs (None: an imported point has no
                             reply, and `prediction` is the point), the thinking that came with it
image_digest                 of the image's content as the model was asked about it (logs of earlier
                             versions have none)
prompt                       messages as shown to the model, images without value
file_wh, sent_wh, seen_wh    the picture in pixels: file, as sent, as the model worked on it
finish_reason, usage, latency_s, attempts, asked_at, error, fingerprint
server                       which of several servers answered: host:port
credit                       recorded steps: the success by the rule of the score, 0..1; None: the
                             rule leaves the step out (files of earlier versions have none)
id                           of the row in its own file, where it has one
letters: options, answer,
chosen                       letters and their texts; the right letter; the parsed one or None
free answers: answered,
expected                     the answer as it was read or None; what is right
points: box_frac, point_frac x1, y1, x2, y2 and x, y as fractions of the picture; None: no point,
                             or none that can be drawn (an infinite coordinate)
points: declined             whether the reply says that there is no such element
episodes: task, apps, tier   the task's name, applications and tier
episodes: feasible, partial  whether it can be done; the share of it that was done, 0..1; None: not
                             known
episodes: steps, action_count
                             replies, and the actions in them that were done
episodes: ended, checks      why the episode was over; what the final check found
episodes: trajectory, cost   its steps; requests, tokens, seconds
points: grid_wh              the grid in whose pixels the model may answer: seen_wh, else what
                             follows from the config's pixel limits; None: not known
zoom                         of a second look: first_reply, first_point_frac, crop_frac;
                             is_elsewhere: the crop is of another part than the first point, as it
                             is read now, asks for, so that point counts
other tables: target         boxes and polygons in fractions, where it is not one box
groups                       the labels of each grouping
details                      what the benchmark itself needs for its figures, as JSON
origin                       of an answer made elsewhere: see `utils.store.records`
wording, element_id          rows of one element asked for in several ways
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utils.contracts import Benchmark, Facts, Record, repeat_of
from utils.scoring.scorer import POINT, ScoredSample
from utils.scoring.sheets import Together, open_lines, open_sheet
from utils.store.records import SIZES, user_error_fields
from utils.store.strict_json import to_json

REPEAT = "repeat"  # the field, and the column of spreadsheets
Clean = Callable[[Any], Any]
"""Removes secrets: a user's function may have put one into a reply."""


def facts_of(record: Record, scored: ScoredSample, *, has_repeats: bool = False) -> Facts:
    """Return one sample's line of the file; `has_repeats`: each question has several answers."""
    line, judged, sizes = scored.line, scored.judgement, record["sizes"]
    error = record.get("error") if scored.error is None else user_error_fields(scored.error)
    facts: Facts = {
        "key": record["key"],
        **({REPEAT: repeat_of(record["key"])} if has_repeats else {}),
        "index": line.get("index"),
        "image": line.get("image_path"),
        "platform": line.get("platform"),
        "app": line.get("app_name"),
        **judged.facts,  # "hit" among them: as the score counts it
        "status": record["status"],
        "verdict": judged.verdict,
        "prediction": scored.prediction,
        "prompt": record.get("prompt") or [],
        **{f"{stage}_wh": sizes.get(stage) for stage in SIZES},
        "error": error and {name: error.get(name) for name in ("class", "message")},
        "fingerprint": record.get("fingerprint"),
    }
    response = record.get("raw")
    is_point_alone = response is None and POINT in record  # the prediction is made of the point
    if is_point_alone or response not in (None, scored.prediction):
        facts["raw"] = response
    for name in (
        "image_digest",
        "reasoning",
        "origin",
        "finish_reason",
        "server",
        "usage",
        "latency_s",
        "attempts",
        "asked_at",
    ):
        if record.get(name) is not None:
            facts[name] = record[name]
    return facts


@dataclass(frozen=True)
class SamplesFile:
    """A file with a head and a line for each sample; it appears when all files of a scoring do."""

    path: Path
    head: Facts
    clean: Clean
    together: Together

    @contextmanager
    def opened(self) -> Iterator[Callable[[Facts], object]]:
        """Yield the function that writes the line of a sample, which has to be clean."""
        with open_lines(self.path, self.together) as lines:
            lines.write(to_json(self.head) + "\n")
            yield lambda facts: lines.write(to_json(facts) + "\n")


def prediction_columns(benchmark: Benchmark, columns: Iterable[str]) -> list[str]:
    """The columns of the spreadsheet of predictions: those of a data set's lines for people."""
    return [*(name for name in columns if name not in benchmark.not_in_sheets), "prediction"]


@contextmanager
def result_files(
    file: SamplesFile,
    sheets: Sequence[Path],
    benchmark: Benchmark,
    columns: Iterable[str],
    *,
    has_repeats: bool,
) -> Iterator[Callable[[Record, ScoredSample], Facts]]:
    """Open predictions, per-sample results and the samples file, written sample by sample.

    Yields the function that takes a judged sample and returns its line of the samples file.

    Args:
        file: the samples file, which appears first.
        sheets: the spreadsheets of predictions and of results.
        benchmark: that has judged the samples.
        columns: of the data set's lines.
        has_repeats: each question has several answers, with a row for each.
    """
    last_columns = [REPEAT] if has_repeats else []
    with_line = prediction_columns(benchmark, columns)
    line_columns = with_line if benchmark.result_has_line else []
    result_columns = [*line_columns, *benchmark.result_columns, *last_columns]
    with (
        open_sheet(sheets[0], [*with_line, *last_columns], file.together) as add_prediction,
        open_sheet(sheets[1], result_columns, file.together) as add_result,
        file.opened() as add_line,  # whole before the others
    ):

        def add(record: Record, scored: ScoredSample) -> Facts:
            row = {**scored.line, "prediction": scored.prediction}
            of_sample = facts_of(record, scored, has_repeats=has_repeats)
            facts, row, judged = file.clean([of_sample, row, dict(scored.judgement.columns)])
            for columns_of_row in (row, judged) if has_repeats else ():
                columns_of_row[REPEAT] = facts[REPEAT]
            add_line(facts)
            add_prediction(row)
            add_result({**row, **judged} if benchmark.result_has_line else judged)
            return dict(facts)

        yield add
