"""L1, GUIContentUnderstanding: a multiple-choice question about a screenshot."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from benchmarks.base import (
    BadSample,
    Benchmark,
    doubts,
    index_list,
    platform_path,
    read_annotations,
)
from benchmarks.circular import listed_letters
from benchmarks.figures import option_sections
from benchmarks.matrics import OptionResult, Scores, score_content_understanding
from utils.analysis.columns import SampleColumns
from utils.contracts import WH, Judgement, Line, Sample, Sizes, Verdict
from utils.errors import UserError
from utils.misc import OPTION_LETTERS, parser_answers_into_option
from utils.protocol import DIFFICULTIES, is_weighted
from utils.sections import DataSection
from utils.thinking import PARSE_OPTION, PARSE_OPTION_TEXT, parse_option, parse_option_text

# parity: protocol text, to the byte.
L1_SYSTEM_PROMPT_DEFAULT = """You are a GUI agent. You are given a screenshot of an application, a question and corresponding options. You need to choose one option as your answer for the question. Finally, you are ONLY allowed to return the single letter of your choice."""  # noqa: E501


class ChoiceSection(DataSection):
    """The section of a config; `circular`: all rotations of options are queried, too."""

    match_mode: Annotated[
        Literal["exact_match", "exact_matching", "judge"],
        AfterValidator(lambda mode: mode if mode == "judge" else "exact_matching"),
    ] = Field(
        "exact_matching",
        description='"exact_match" (replies are compared as letters) or "judge" (docs/scores.md)',
    )
    circular: bool = False
    judge: Any = None  # the model that reads replies: `utils.config.schema.JudgeEntry`


class GUIContentUnderstanding(Benchmark):
    """Multiple-choice questions about screenshots, scored by difficulty and platform."""

    name = "GUIContentUnderstanding"
    level = "L1"
    modes = ("all", *DIFFICULTIES)
    mode_column, text_key = "difficulty", "question"
    result_suffix = "exact_matching_result"
    score_suffix = "scores"
    result_columns = ("hit", "log", "parsed_prediction", "options_num")
    result_has_line = True
    system_prompt = L1_SYSTEM_PROMPT_DEFAULT
    config_section = ChoiceSection
    default_parse = staticmethod(parser_answers_into_option)
    parse_functions: ClassVar[Mapping[str, Callable[..., Any]]] = {
        PARSE_OPTION: parse_option,
        PARSE_OPTION_TEXT: parse_option_text,
    }
    audits = (
        "utils.analysis.parse_audit.parse_audit",
        "utils.analysis.image_tokens.image_tokens",
        "utils.analysis.letter_bias.letter_bias",
        "utils.analysis.server_audit.server_audit",
    )

    def rows(self, mode: str) -> Iterator[Line]:
        """Yield a row for each question.

        parity: mode "all" numbers the questions through and the image's columns win over the
        question's; a single difficulty keeps the image's index and the question's columns win.
        """
        number = 0
        for position, item in enumerate(read_annotations(self.annotation_file)):
            image = {key: value for key, value in item.items() if key != "groups"}
            groups = item.get("groups")
            if not isinstance(groups, list) or not all(isinstance(g, dict) for g in groups):
                entry = f"{self.annotation_file}: entry {position}"
                raise UserError(f"{entry}: groups must be a list of questions")
            for group in groups:
                row = {**image, **group}
                if mode == "all":
                    row |= {**image, "index": number}
                number += 1
                yield {**row, "image_path": platform_path(row)}

    def position_of(self, row: Line, mode: str) -> str:
        """Name a row by its number among all questions, or by the index of its image."""
        return f"{'question' if mode == 'all' else 'index'} {row.get('index')}"

    def problem_of(self, row: Line, file_wh: WH) -> str | None:
        """Say what is wrong with the options, or that the answer is none of them."""
        if problem := super().problem_of(row, file_wh):
            return problem
        options, answer = row.get("options"), row.get("answer")
        if not isinstance(options, dict) or not options:
            return "the options are missing"
        if unknown := [key for key in options if key not in tuple(string.ascii_uppercase)]:
            return f"option keys must be single letters A to Z, found {unknown}"
        unfit = [key for key, text in options.items() if not isinstance(text, (str, type(None)))]
        if unfit:
            return f"option {unfit[0]} is not a string: {options[unfit[0]]!r:.100}"
        if not isinstance(answer, str) or answer not in options or options[answer] is None:
            return f"the answer {answer!r} is not among the options {', '.join(options)}"
        return None

    def user_text(self, line: Line) -> str:
        """Return hint, question, options that have a text, and the request to choose."""
        texts = line["options"]
        options = "".join(f"{letter}. {texts[letter]}\n" for letter in listed_letters(texts))
        text = f"Hint: {line['hint']}\n" if line.get("hint") is not None else ""
        text += f"Question: {line['question']}\n"
        request = "Please select the correct answer from the options above. \n"
        return text + (f"Options:\n{options}{request}" if options else "")

    def accept(self, parsed: Any) -> str | None:
        """Return a letter, or None."""
        if parsed is None or isinstance(parsed, str):
            return parsed
        raise ValueError(f"returned {parsed!r:.200}; expected a letter or None")

    def judge_parsed(self, line: Line, sizes: Sizes, parsed: Any, reply: str | None) -> Judgement:
        """Return a hit if the letter is the annotated one."""
        options = line["options"]
        answer = line["answer"]
        hit = int(parsed == answer)
        verdict = Verdict.HIT if hit else Verdict.MISS
        if parsed is None:
            verdict = Verdict.UNPARSED
        word = "and" if hit else "while"
        columns = {
            "hit": hit,
            "log": f"Match Log: Parsed option is {parsed} {word} groundtruth option is {answer}.",
            "parsed_prediction": str(parsed),
            "options_num": len(options),
        }
        facts = {
            "split": line["difficulty"],
            "kind": None,
            "text": line.get("question"),
            "hit": hit,
            "options": options,
            "answer": answer,
            "chosen": parsed,
        }
        counted = OptionResult(line["difficulty"], line["platform"], bool(hit), len(options))
        return Judgement(None if reply is None else verdict, counted, columns, facts)

    def summarise(self, counted: Iterable[OptionResult], settings: Mapping[str, str]) -> Scores:
        """Return accuracy by difficulty and platform, weighted if `L1_USE_WEIGHTED` says so."""
        return score_content_understanding(counted, weighted=is_weighted(settings))

    def sections(self, columns: SampleColumns, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the figures with intervals."""
        return option_sections(columns, self.title, weighted=is_weighted(settings))

    def unreadable(self, samples: Sequence[Sample]) -> list[str]:
        """Name the questions with options beyond those that the protocol's parser knows."""
        indices = [
            sample.line.get("index")
            for sample in samples
            if set(listed_letters(sample.line["options"])) - set(OPTION_LETTERS)
        ]
        if not indices:
            return []
        return [
            f"{len(indices)} questions ({index_list(indices)}) have options beyond F, which the "
            "protocol's parser does not read; circular evaluation leaves them out. To read them, "
            'set data.GUIContentUnderstanding.parse_function: "utils.thinking.parse_option"'
        ]

    def notes(self, samples: Sequence[Sample], bad: Sequence[BadSample], mode: str) -> list[str]:
        """Name questions that nobody can answer wrongly, or that have two equal right answers."""
        single, equal, empty = [], [], []
        for sample in samples:
            options = sample.line["options"]
            texts = [options[letter].strip() for letter in listed_letters(options)]
            if len(texts) == 1:
                single.append(sample)
            if len(set(texts)) < len(texts):
                equal.append(sample)
            if not options[sample.line["answer"]].strip():
                empty.append(sample)
        problems = {
            "with a single option": single,
            "with two options of the same text": equal,
            "with an empty text as answer": empty,
        }
        return doubts(problems, "question")
