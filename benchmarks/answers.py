"""Questions about images with free answers: a base for benchmarks with their own scorer."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from benchmarks.base import BadSample
from benchmarks.figures import Figures
from benchmarks.tables import TableBenchmark
from utils.analysis.columns import SampleColumns
from utils.contracts import WH, Judgement, Line, Sample, Sizes, Verdict
from utils.errors import ScorerError
from utils.functions.calling import as_user_error
from utils.functions.names import dotted_name
from utils.text import counted, cut, is_blank

LONGEST_QUESTION = 60  # characters, in a message
MOST_NAMED = 5  # rows, in a message
NO_LABEL = "none"  # the column of rows without a label of the split


class AnswerBenchmark(TableBenchmark):
    """A table of questions with text answers; `is_right` judges them.

    A row is a dict with `image_path`, the `question`, and the keys that `is_right` reads. `split`
    names one of its keys. The score table has a column for each value of this key.
    """

    text_key = "question"
    split: ClassVar[str] = ""
    result_columns = ("image_path", "question", "answer", "match", "is_wrong_format", "index")
    system_prompt = "You answer questions about a screenshot. Reply with the answer alone."

    @staticmethod
    def default_parse(response: str, meta: Mapping[str, Any], /) -> str | None:
        """Return the reply without blanks around it; None where nothing is left."""
        return response.strip() or None

    def accept(self, parsed: Any) -> str | None:
        """Return the answer as a text."""
        return None if parsed is None else str(parsed)

    def user_text(self, line: Line) -> str:
        """Return the question."""
        return str(line[self.text_key])

    def problems(self) -> list[str]:
        """Say that `split` names a figure of the score file, too."""
        if self.split not in _block(Counter()):
            return super().problems()
        problem = (
            f'split = "{self.split}" is the name of a figure in the score file; rename the column'
        )
        return [*super().problems(), problem]

    @property
    def spread_column(self) -> str:
        """The column of the modes, else that of the parts of the score table."""
        return self.mode_column or self.split

    @abstractmethod
    def is_right(self, line: Line, answer: str) -> bool:
        """Return True if the answer to a question is right, otherwise False.

        Args:
            line: the row, as `read_rows` yields it.
            answer: the result of the parse function, as a text.
        """

    def expected_text(self, line: Line) -> str | None:
        """The right answer for the report and for comparisons; None where a row does not have it.

        By default it is `answer`, or all `answers` with "or" between them.
        """
        answers = _answers_of(line)
        return " or ".join(answers) if answers else None

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """Say whether `answers` is a text, which a scorer would go through letter by letter."""
        if isinstance(row.get("answers"), str):
            return f'answers must be a list, as in ["{cut(row["answers"], 20)}"]'
        return super().problem_of(row, file_wh)

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Name rows without a label of the split, without answers, and with an id of another."""
        notes = super().notes(samples, bad, mode)
        if self.split:
            unlabelled = [sample for sample in samples if _label(sample.line, self.split) is None]
            if unlabelled:
                rows = self._named(unlabelled, mode)
                notes.append(
                    f'{counted(len(unlabelled), "row")} without "{self.split}": '
                    f'in the score table under "{NO_LABEL}": {rows}'
                )
        unanswerable = [sample for sample in samples if sample.line.get("answers") == []]
        if unanswerable:
            rows = self._named(unanswerable, mode)
            notes.append(f'{counted(len(unanswerable), "row")} with an empty "answers": {rows}')
        ids = Counter(str(sample.line.get("id")) for sample in samples)
        repeated = [
            sample
            for sample in samples
            if sample.line.get("id") is not None and ids[str(sample.line["id"])] > 1
        ]
        if repeated:
            rows = self._named(repeated, mode)
            notes.append(f"{len(repeated)} rows share an id with another row: {rows}")
        return notes

    def _named(self, samples: Sequence[Sample], mode: str) -> str:
        """The first few of some samples by row and id."""
        places = [self.position_of(sample.line, mode) for sample in samples[:MOST_NAMED]]
        return ", ".join([*places, "..."] if len(samples) > MOST_NAMED else places)

    def subset_labels(self, row: Line) -> dict[str, list[str]]:
        """The labels of a row by the columns that all tables have, its kind, and its split."""
        labels = super().subset_labels(row)
        for grouping in filter(None, ("kind", self.split)):
            label = _label(row, grouping)
            labels[grouping] = [] if label is None else [label]
        return {"data_type": labels["kind"], **labels}  # L2's name for it

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the answer is right."""
        is_hit = parsed is not None and self._is_right(line, parsed)
        expected = self._called("expected_text", self.expected_text, line)
        verdict = Verdict.HIT if is_hit else Verdict.MISS
        if parsed is None:
            verdict = Verdict.UNPARSED
        columns = {
            "image_path": line["image_path"],
            "question": line[self.text_key],
            "answer": parsed,
            "match": int(is_hit),
            "is_wrong_format": verdict is Verdict.UNPARSED,
            "index": line.get("index"),
        }
        facts = {
            "split": _label(line, self.split) if self.split else None,
            "kind": _label(line, "kind"),
            "text": line[self.text_key],
            "id": line.get("id"),
            "image": f"{self.folder}/{self.images}/{line['image_path']}",
            "hit": int(is_hit),
            "answered": parsed,
            "expected": expected,
        }
        final_verdict = None if reply is None else verdict
        return Judgement(final_verdict, (facts["split"], final_verdict), columns, facts)

    def _is_right(self, line: Line, answer: str) -> bool:
        """Return the checked result of `is_right` for an answer.

        Raises:
            ScorerError: `is_right` raised an exception, or returned neither True nor False.
        """
        is_right = self._called("is_right", self.is_right, line, answer)
        if not _is_bool(is_right):
            raise ScorerError(
                f"{self._method('is_right')} returned {is_right!r:.100} at {self._place(line)}; "
                "expected True or False"
            )
        return bool(is_right)

    def _called(self, name: str, method: Callable[..., Any], line: Line, *arguments: Any) -> Any:
        try:
            return method(line, *arguments)
        except Exception as failure:
            summary = as_user_error(name, failure).summary
            answers = "".join(f", for the answer {answer!r:.100}" for answer in arguments)
            where = f"at {self._place(line)}{answers}"
            raise ScorerError(f"{self._method(name)} {summary} {where}") from failure

    def _method(self, name: str) -> str:
        return f"{dotted_name(type(self))}.{name}"

    def _place(self, line: Line) -> str:
        """Name a row by its number, id, image and question."""
        id_text = "" if line.get("id") is None else f" (id {line['id']})"
        question = cut(str(line[self.text_key]), LONGEST_QUESTION)
        return f'row {line.get("index")}{id_text}, image {line["image_path"]}, "{question}"'

    def try_scorer(self, sample: Sample) -> str:
        """Call `is_right` with the right answer of a sample; return a note if it says no."""
        line = sample.line
        answers = _answers_of(line) or [self._called("expected_text", self.expected_text, line)]
        if answers[0] is None or self._is_right(line, answers[0]):
            return ""
        return (
            f'{self._method("is_right")} says that "{cut(answers[0], LONGEST_QUESTION)}" is wrong, '
            f"which is the right answer at {self._place(line)}"
        )

    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the accuracy in percent, in all and by split, with counts."""
        verdicts_by_split: dict[str, Counter[Verdict | None]] = {}
        for split, verdict in counted:
            verdicts_by_split.setdefault(split or NO_LABEL, Counter())[verdict] += 1
        overall: Counter[Verdict | None] = sum(verdicts_by_split.values(), Counter())
        scores = _block(overall)
        if self.split:
            scores[self.split] = {name: _block(n) for name, n in sorted(verdicts_by_split.items())}
        return scores

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the accuracy with its interval, in all and by split."""
        figures = Figures(columns)
        everything = figures.weights >= 0
        masks = figures.masks["split"] if self.split else {}
        overall = figures.mean([everything])
        cells = [figures.mean([mask]) for mask in masks.values()]
        return {
            "table": {
                "title": self.title,
                "columns": [*masks, "Overall"],
                "rows": [{"name": "accuracy", "cells": [*cells, overall]}],
                "official": ["accuracy"],
                "headline": "micro over all rows",
                "column_field": "split" if self.split else None,
                "split_name": self.split or None,
                "row_field": None,
                "parts": [],
            },
            "averages": {"micro over all rows": overall},
            "groups": {
                name: figures.group(name)
                for name in ("split", "platform")
                if set(figures.masks[name]) != {"none"}
            },
        }


def _label(row: Line, column: str) -> str | None:
    """The label of a row in a column; None where there is none, or a blank one."""
    value = row.get(column)
    return None if value is None or is_blank(str(value)) else str(value)


def _answers_of(line: Line) -> list[str]:
    """The right answers that a row names in `answers` or `answer`."""
    answers = line.get("answers", line.get("answer"))
    if answers is None:
        return []
    return [str(answer) for answer in (answers if isinstance(answers, list) else [answers])]


def _is_bool(value: Any) -> bool:
    """Whether a value is a bool of Python or of numpy."""
    import numpy as np

    return isinstance(value, (bool, np.bool_))


def _block(verdicts: Counter[Verdict | None]) -> dict[str, Any]:
    total = verdicts.total()
    return {
        "accuracy": 100 * verdicts[Verdict.HIT] / total if total else None,
        "num_correct": verdicts[Verdict.HIT],
        "num_total": total,
        "num_wrong_format": verdicts[Verdict.UNPARSED],
        "num_failed": verdicts[None],
    }
