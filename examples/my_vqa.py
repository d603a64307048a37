"""A benchmark to copy: questions about screens with free answers, and its own scorer.

    "data": {"My questions": {"benchmark": "examples.my_vqa.MyVQA"}}

`my-vqa/questions.json` below LMUData is a list of

    {"id": 1, "image": "a.png", "question": "Which day is shown?", "answers": ["Monday"],
     "topic": "calendar"}

with the images in `my-vqa/images`. docs/own_benchmark.md says more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from benchmarks.answers import AnswerBenchmark


class MyVQA(AnswerBenchmark):
    """An answer is right if the row has it, in any case and with any punctuation."""

    folder = "my-vqa"
    split = "topic"

    def read_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each question."""
        for item in self.read_file("questions.json"):
            yield {
                "id": item["id"],
                "image_path": item["image"],
                "question": item["question"],
                "answers": item["answers"],
                "topic": item["topic"],
            }

    def is_right(self, line: Any, answer: str) -> bool:
        """Return True if the answer is one of those that count."""
        return normal_form(answer) in {normal_form(text) for text in line["answers"]}


def normal_form(text: str) -> str:
    """Return a text in small letters, without punctuation and runs of blanks."""
    return " ".join(re.sub(r"[^\w\s]", "", text.casefold()).split())
