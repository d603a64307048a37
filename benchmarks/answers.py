"""Questions about images with free answers: a base for benchmarks with their own scorer."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from benchmarks.figures import Figures
from benchmarks.tables import TableBenchmark
from utils.analysis.columns import SampleColumns
from utils.contracts import Judgement, Line, Sizes, Verdict
from utils.errors import UserError
from utils.functions.calling import as_user_error
from utils.text import cut

LONGEST_QUESTION = 60  # characters, in a message


class AnswerBenchmark(TableBenchmark):
    """A table of questions with text answers; `is_right` judges them.

    A row has `image_path`, the `question`, and the fields that `is_right` reads. `split` names a
    column; the score table has a part for each of its values.
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

    @abstractmethod
    def is_right(self, line: Line, answer: str) -> bool:
        """Return whether an answer to a row's question is right."""

    def expected_text(self, line: Line) -> str | None:
        """The right answer as people read it; None where a row does not say it.

        It stands on the pages and in comparisons. A row's `answers` or `answer` is taken.
        """
        answers = line.get("answers", line.get("answer"))
        if isinstance(answers, list):
            return " or ".join(map(str, answers))
        return None if answers is None else str(answers)

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the answer is right."""
        is_hit = parsed is not None and self._is_right(line, parsed)
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
            "split": str(line.get(self.split)) if self.split else None,
            "kind": None,
            "text": line[self.text_key],
            "id": line.get("id"),
            "image": f"{self.folder}/{self.images}/{line['image_path']}",
            "hit": int(is_hit),
            "answered": parsed,
            "expected": self.expected_text(line),
        }
        final_verdict = None if reply is None else verdict
        return Judgement(final_verdict, (facts["split"], final_verdict), columns, facts)

    def _is_right(self, line: Line, answer: str) -> bool:
        try:
            return bool(self.is_right(line, answer))
        except Exception as failure:
            where = f"{type(self).__module__}.{type(self).__qualname__}.is_right"
            summary = as_user_error("is_right", failure).summary
            question = cut(str(line[self.text_key]), LONGEST_QUESTION)
            raise UserError(
                f'{where} {summary} at the question "{question}"; all replies are kept. Repair '
                "it, then score them with --mode eval"
            ) from failure

    def summarise(self, counted: Iterable[Any], settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the accuracy in percent, in all and by split, with counts."""
        verdicts_by_split: dict[str, Counter[Verdict | None]] = {}
        for split, verdict in counted:
            verdicts_by_split.setdefault(split or "", Counter())[verdict] += 1
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


def _block(verdicts: Counter[Verdict | None]) -> dict[str, Any]:
    total = verdicts.total()
    return {
        "accuracy": 100 * verdicts[Verdict.HIT] / total if total else None,
        "num_correct": verdicts[Verdict.HIT],
        "num_total": total,
        "num_wrong_format": verdicts[Verdict.UNPARSED],
        "num_failed": verdicts[None],
    }
