"""The answer of a reply without the thinking around it, and parse functions that read only that.

Models that think before they answer write it between marks (`<think>`, `<thought>`, `◁think▷`,
`[THINK]`, ...), unless their server takes it out. The protocol's parsers know no marks: they read
the first letter or the first pair of numbers, which then is a thought. The two parse functions here
can be named in a config instead; the audits say when that is called for. One table of marks serves
the readers of letters, of points and of actions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from utils.contracts import Point
from utils.folding import WORD, fold
from utils.misc import OPTION_LETTERS, parser_answers_into_option, parser_response_into_coordinates
from utils.patterns import at_first_use

PARSE_OPTION = f"{__name__}.parse_option"
"""What a config's `parse_function` says for letters."""
PARSE_OPTION_TEXT = f"{__name__}.parse_option_text"
"""Likewise for letters, and for texts of options in their place."""
_DENIAL = re.compile(
    r"\b(?:not|no|none|never|neither|nor|except|wrong|incorrect|instead|rather|unlike|either|or)\b"
    r"|n't\b|不|没|無|无"
)

# How marks of tags are written: as they are, or escaped for HTML, JSON or Markdown.
_LEFT, _RIGHT = r"(?:<|&lt;|\\u003c|\\<)\|?\s?", r"\s?\|?(?:>|&gt;|\\u003e|\\>)"
_STEMS = {  # of tags: <think>, <seed:think>, <thinking>, </|thought|>, <reasoning_process>, ...
    "think": "think(?:ing)?",
    "thought": "thoughts?",
    "reasoning": "reason(?:ing)?",
    "reflection": "reflection",
    "analysis": "analysis",
    "scratchpad": "scratchpad",
    "monologue": "monologue",
    "cot": "cot",
}
_BEFORE, _AFTER = (
    "(?:[a-z]{1,10}:|ant|(?:grounding|inner|internal)_)?",
    "(?:_(?!start|end)[a-z]{1,10})?",
)
_KIND = "(?:think(?:ing)?|thought|reasoning)"


class _Marks(NamedTuple):
    """The opening and closing marks of a thinking, as regular expressions."""

    opening: str
    closing: str
    closes_alone: bool = True  # the chat template, or a mark of another kind, may have opened it


_THINKING = {
    **{
        name: _Marks(
            rf"{_LEFT}{_BEFORE}{stem}{_AFTER}(?:\s[^<>]{{0,100}})?{_RIGHT}",
            rf"{_LEFT}/\|?\s?{_BEFORE}{stem}{_AFTER}{_RIGHT}",
        )
        for name, stem in _STEMS.items()
    },
    "triangles": _Marks("◁think(?:ing)?▷", "◁/think(?:ing)?▷"),  # Kimi
    "brackets": _Marks(r"\[think\]", r"\[/think\]"),  # Magistral
    "tokens": _Marks(  # Cohere's START_THINKING, OpenThinker's begin_of_thought
        rf"<\|(?:start|begin)_(?:of_)?{_KIND}\|>|<\|{_KIND}_start\|>",
        rf"<\|end_(?:of_)?{_KIND}\|>|<\|{_KIND}_end\|>"
        r"|<\|START_RESPONSE\|>|<\|begin_of_solution\|>",
    ),
    "inner": _Marks(r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    "channel": _Marks(r"<\|channel>\s*(?:thought|analysis)", r"<channel\|>"),  # Gemma
    "message": _Marks(  # gpt-oss
        r"<\|channel\|>\s*analysis\s*(?:<\|message\|>)?",
        r"<\|channel\|>\s*final\s*(?:<\|message\|>)?",
    ),
    "words": _Marks(r"\A(?-i:analysis)(?-i:(?=[A-Z]))", "(?-i:assistantfinal)", False),  # the same
    "steps": _Marks(r"\A\s*Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]"),  # Apriel
    "process": _Marks(  # Granite
        r"\A\s*Here(?:'s| is) my thought process:", r"Here(?:'s| is) my response:", False
    ),
    "dots": _Marks(r"\A\s*Thinking\.\.\.\s*\n", r"\.\.\.\s?done thinking\.", False),  # Ollama
    "details": _Marks(
        r"<details[^<>]{0,100}\breasoning\b[^<>]{0,100}>", r"</details>", False
    ),  # Open WebUI
}
"""The marks that models write around their thinking; every reader reads past all of them."""

# Marks of the end of a message, or of the answer.
_END = r"<\|(?:end|return|END_RESPONSE|end_of_solution)\|>|\[END FINAL RESPONSE\]"
_EACH = [
    *(f"(?P<open_{name}>{marks.opening})" for name, marks in _THINKING.items()),
    *(f"(?P<close_{name}>{marks.closing})" for name, marks in _THINKING.items()),
    f"(?P<end_>{_END})",
]
# How any of them begins. Most replies have none, and the expression of all takes 8 ms to compile.
_BEGINS = (
    r"<\|?\s?[/a-z]|&lt;|\\[u<]|◁|\[[/a-z]|\.\.\.|assistantfinal|Here"
    r"|\A\s*(?:Here|Thinking)|\Aanalysis"
)
_BEGINNING = re.compile(_BEGINS, re.IGNORECASE)
_MARK = at_first_use(rf"(?={_BEGINS})(?:{'|'.join(_EACH)})", re.IGNORECASE)


def answer_span(reply: str) -> tuple[int, int]:
    """Return start and end of the answer in a reply: the last text outside of its thinking.

    A closing mark alone ends a thinking that the chat template has opened. A thinking that is never
    closed was cut off, and the text before it is no answer either. Without marks the answer is the
    whole reply. The span is empty where there is no answer.
    """
    folded = fold(reply)
    for start, end in reversed(_spans_outside(folded.text)):
        if folded.text[start:end].strip():
            return folded.places[start], folded.places[end]
    return 0, 0


def _spans_outside(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text outside its thinking; none if a thinking is never closed."""
    spans = []
    start = 0
    open_marks: list[str] = []
    for mark in _MARK().finditer(text) if _BEGINNING.search(text) else ():
        kind, _, name = str(mark.lastgroup).partition("_")
        if kind == "end" and "message" in open_marks:
            kind, name = "close", "message"
        if kind != "close":
            if not open_marks:
                spans.append((start, mark.start()))
                start = mark.end()
            if kind == "open" and name not in open_marks:
                open_marks.append(name)
        elif name in open_marks or _THINKING[name].closes_alone:
            first_closed = open_marks.index(name) if name in open_marks else 0
            del open_marks[first_closed:]
            start = mark.end()
    return [] if open_marks else [*spans, (start, len(text))]


def after_thinking(reply: str) -> str:
    """Return the answer in a reply: the text behind the model's thinking. Spaces around it stay.

    | reply | result |
    |---|---|
    | `<think>It is red.</think>Red` | `Red` |
    | `It is red.</think>Red` | `Red` |
    | `Red` (without thinking) | `Red` |
    | `<think>It is` (cut off in the thinking) | an empty text |

    Args:
        reply: the reply of a model, in which thinking stands between marks of some model family.
    """
    start, end = answer_span(reply)
    return reply[start:end]


def option_after_thinking(reply: str, letters: Collection[str]) -> str | None:
    """Return the letter that a reply plainly states after its thinking, else the protocol's."""
    answer = after_thinking(reply)
    return strict_option(answer, letters) or parser_answers_into_option(fold(answer).text)


def parse_option(response: str, meta: Mapping[str, Any]) -> str | None:
    """Return the letter of the answer in a reply, or None. Letters in the thinking do not count.

    Args:
        response: the reply.
        meta: the row, as a parse function gets it. `meta["options"]` has the letters with their
            texts. Without it, the letters are A to F.
    """
    return option_after_thinking(response, _letters(meta.get("options")))


def parse_option_text(response: str, meta: Mapping[str, Any]) -> str | None:
    """Return the letter of the answer in a reply, by the letter or by the text of an option.

    For models that write "it is the Save button" instead of a letter. A text counts if it is that
    of one option only, and if the reply denies nothing ("not", "neither", ...). Thinking is passed
    over.

    Args:
        response: the reply.
        meta: the row, as a parse function gets it. `meta["options"]` has the letters with their
            texts.
    """
    options = _options(meta.get("options"))
    answer = after_thinking(response)
    letter = strict_option(answer, [*options] or OPTION_LETTERS)
    return letter or _option_by_text(answer, options)


def _option_by_text(answer: str, options: Mapping[str, Any]) -> str | None:
    """The letter of the one option whose text stands in an answer."""
    answer = fold(answer).text.casefold()
    texts = {
        letter: fold(str(text)).text.casefold().strip(" .\n")
        for letter, text in options.items()
        if text is not None
    }
    found = {
        letter: text
        for letter, text in texts.items()
        if text and re.search(rf"(?<!{WORD}){re.escape(text)}(?!{WORD})", answer)
    }
    # The text of an option may be a part of another's: "blue" and "light blue".
    longest = [
        letter
        for letter, text in found.items()
        if not any(text != other and text in other for other in found.values())
    ]
    if len(longest) != 1:
        return None
    rest = answer.replace(found[longest[0]], "")
    return None if _DENIAL.search(rest) else longest[0]


def parse_point(response: str, meta: Mapping[str, Any] | None = None) -> Point | None:
    """Return the point that the protocol's own parser reads in what follows the thinking.

    For a model that answers in one frame throughout, `utils.coordinates.parse_fractions` and its
    like are the better choice: they look past the thinking too.
    """
    return parser_response_into_coordinates(fold(after_thinking(response)).text, meta)


def _options(options: Any) -> Mapping[str, Any]:
    """The texts of options by letter; empty where there are none."""
    if isinstance(options, str):
        with suppress(ValueError, SyntaxError):
            options = ast.literal_eval(options)
    return options if isinstance(options, Mapping) else {}


def _letters(options: Any) -> Collection[str]:
    texts = _options(options)
    return [letter for letter, text in texts.items() if text is not None] or OPTION_LETTERS


# -- the letter that a reply plainly gives --------------------------------------------------------
# The protocol's option parser takes the first letter that any of its patterns finds. This reader
# wants it said: a lone letter, a statement in words, a line of one letter, a single list item.

# Before these words a single "A" is the subject of a sentence, not an article.
_VERBS = (
    "is|was|are|would|will|can|could|should|may|might|must|does|has|because|since|as|and|or|but|"
    "seems?|appears?|looks?|fits?|matches|describes?|shows?|says|states|represents|refers|means|"
    "corresponds|best|correctly|the|this|that|it|from|for|in|on|to|with|by|not"
)
ARTICLE = re.compile(rf"[ \t]+(?!(?:{_VERBS})\b)[^\W\d_]", re.IGNORECASE)
"""What follows an article "a"."""

_ENDS = rf"(?!{WORD}|')(?!\.{WORD})"  # the letter is not the first one of a word
_LETTER = rf"[\W_]{{0,8}}(?i:option\s+)?[\W_]{{0,8}}([A-Z]){_ENDS}"
_RIGHT = r"(?:correct|right|best)"
# Not "is right below the toolbar", and not "is the right arrow".
_STATED = r"(?=[ \t]*(?:[^\w\s]|\n|\Z|\s(?:because|since|as)\b))"
_IS_RIGHT = (
    rf"is\s+(?:correct\b|(?:the\s+)?{_RIGHT}{_STATED}"
    rf"|the\s+{_RIGHT}\s+(?:answer|option|choice|one)\b)"
)
# Words of which a statement has one, and its form; most replies have none, and are done quickly.
_ASIAN_LINK = "(?:就是|是|为|為|选择?|選擇?|は|은|는|:|=)?"
_STATEMENTS = tuple(
    (words.split(), at_first_use(form))
    for words, form in (
        # "the correct answer is **B**", "Answer: B", "final answer would be option C"
        (
            "answer",
            r"(?i:\banswer\b(?:\s+(?:choice|option))?(?:\s+(?:is|would be|should be|must be))?"
            r"(?:\s+therefore)?\s*[:=]?)" + _LETTER,
        ),
        ("ans: ans. ans=", r"(?i:\bans[:.=])" + _LETTER),
        (
            "option choice one",
            rf"(?i:\b{_RIGHT}\s+(?:option|choice|one)(?:\s+(?:is|would be)\s*:?|\s*[:=]))"
            + _LETTER,
        ),
        ("choice: choice=", r"(?i:\bchoice[:=])" + _LETTER),
        (
            "choose select pick go",
            r"(?i:\bI(?:\s+would|'d|\s+will|'ll)?"
            r"\s+(?:choose|select|pick|go\s+with))" + _LETTER,
        ),
        # "Choose B", but not "Choose A, B or C"
        (
            "choose select pick",
            r"(?im:^[\W_]{0,8}(?:choose|select|pick))"
            + _LETTER
            + r"(?!\s*(?:,|/|or\b|and\b)\s*(?:or\s+)?[A-Z]\b)",
        ),
        (
            "option",
            rf"(?i:\boption)\s+[\W_]{{0,4}}([A-Z]){_ENDS}\s+(?i:{_IS_RIGHT})",
        ),
        (
            "correct right best",
            rf"(?<!{WORD})(?<!')([A-Z])[\W_]{{0,3}}\s+(?i:{_IS_RIGHT})",
        ),
        ("boxed", r"(?i:boxed\s*\{)\s*(?:\\text\s*\{)?" + _LETTER),
        ("<answer> begin_of_box", r"(?i:<answer>|<\|begin_of_box\|>)" + _LETTER),
        # 正确答案是C, 答案：C, 选C, 應該選C, 而是C; 答えはC, 正解：C; 정답은 C
        (
            "答 正 最 답",
            r"(?:答案|答え|正解|정답|답|(?:正确|正確|最佳)(?:选项|選項))(?:应该|應該)?"
            rf"\s*{_ASIAN_LINK}\s*(?:选项|選項|選択肢)?{_LETTER}",
        ),
        ("选 選", rf"(?<![不没沒别別勿该該能会會])(?:选择|選擇|选|選)(?!项|項){_LETTER}"),
        ("应 應 而", rf"(?<!不)(?:应该|應該|应|應|而)(?:是|为|為|选|選|选择|選擇){_LETTER}"),
    )
)
LONGEST_LETTER = 100  # signs, with those around the letter
_ONLY_A_LETTER = re.compile(
    r"[\W_]{0,40}(?:(?:(?i:option)|选项|選項|選択肢)[\W_]{0,4})?([A-Za-z])[\W_]{0,40}"
)
_LINE = re.compile(  # "B. Settings", "(B)", "**B**", "B, because ..."
    r"^[ \t*_#>\-\"'(\[]{0,8}([A-Z])[*_\"']{0,2}"
    rf"(?:[.:)\],;](?!{WORD})|[ \t]*$|[ \t]+[—-][ \t])",
    re.MULTILINE,
)


def strict_option(reply: str, letters: Collection[str]) -> str | None:
    """Return the letter that a reply plainly gives as its answer; None where it does not.

    Four forms count, in this order:

    1. The reply is only a letter.
    2. The reply states an answer ("the correct answer is B"); the last statement counts.
    3. The first or the last line is only a letter, and the other one is not another letter.
    4. A line starts with a letter as a list item ("B. Settings"), and no line with another letter.

    A letter that is no option of the sample is no answer.
    """
    text = fold(reply).text.strip()
    alone = _lone_letter(text)
    stated = (0, alone) if alone else last_statement(text)
    if stated:
        return stated[1] if stated[1] in letters else None
    lines = text.split("\n")
    lone_letters = {_lone_letter(lines[0]), _lone_letter(lines[-1])} & set(letters)
    if len(lone_letters) == 1:
        return lone_letters.pop()
    items = {match.group(1) for match in _LINE.finditer(text)} & set(letters)
    return items.pop() if len(items) == 1 else None


def _lone_letter(text: str) -> str | None:
    """Return the letter of a text that is only a letter; None of any other."""
    match = _ONLY_A_LETTER.fullmatch(text) if len(text) <= LONGEST_LETTER else None
    return match[1].upper() if match else None


def last_statement(reply: str) -> tuple[int, str] | None:
    """Return position and letter of the last statement of a reply which letter is its answer."""
    text, places = fold(reply)
    lowered = text.lower()
    statements = []
    for words, form in _STATEMENTS:
        if not any(word in lowered for word in words):
            continue
        for match in form().finditer(text):
            letter = match.group(1)
            is_word = letter in "AI" and ARTICLE.match(text, match.end(1))
            if not is_word:
                statements.append((places[match.start(1)], letter))
    return max(statements, default=None)
