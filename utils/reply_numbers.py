"""The numbers with which a reply names its point or box, whatever frame they are in.

The protocol's own parser takes the first two numbers it meets. `numbers_of_reply` looks at the form
instead. Numbers with names (`x=0.2, y=0.3`), in brackets or tags (`(200, 300)`,
`<point>200 300</point>`, `[x1, y1, x2, y2]`) or on a line of their own count before others. Of
equals the last one counts, because models that think aloud answer at the end. Numbers that can be
read in two ways (`1,920, 1,080`) are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import inf, isclose
from operator import attrgetter
from typing import NamedTuple

from utils.folding import WORD, fold
from utils.patterns import at_first_use
from utils.thinking import after_thinking

# Two numbers (a point) or four (a box); x comes first wherever the reply says which is which.
Numbers = tuple[float, ...]
LARGEST = 1e6  # no screen has a coordinate beyond it; identifiers and time stamps have
SAME_RATIO = 0.002  # of two coordinates, if they come from the same numbers
_PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")
LONGEST_RUN = 5  # numbers: a box and a confidence
LONGEST_LABEL = 60  # signs; also what bounds the time that a long reply takes


class ParsedNumbers(NamedTuple):
    """The numbers of a point or a box."""

    values: Numbers
    have_names: bool  # the reply says which of them are x and which are y


class _Candidate(NamedTuple):
    """Numbers that may be the answer; the greatest one is, of equal ones the last."""

    is_well_formed: bool  # with names, in brackets, or on a line of their own
    end: int  # position in the reply
    numbers: Numbers | None  # None: they can be read in two ways
    start: int = 0
    have_names: bool = False


def numbers_of_reply(reply: str) -> Numbers | None:
    """Return the two or four numbers with which a reply names its point or box, None without."""
    parsed = parse_numbers(reply)
    return None if parsed is None else parsed.values


def parse_numbers(reply: str) -> ParsedNumbers | None:
    """Return the numbers of `numbers_of_reply`, and whether the reply names them x and y."""
    tagged: list[_Candidate] = []
    text = _without_point_tags(fold(after_thinking(reply)).text, tagged)
    text = _QUOTED_LIST.sub(lambda match: re.sub("[\"']", " ", match[0]), text)
    named = [*_lone_names(text), *_adjacent_names(text)]
    unreadable = [candidate for candidate in named if candidate.numbers is None]
    plain = [
        candidate
        for candidate in _plain_numbers(text)
        if not any(other.start <= candidate.end <= other.end for other in unreadable[-1:])
    ]
    candidates = [*named, *plain, *tagged]
    if not candidates:
        return None
    best = max(reversed(candidates), key=attrgetter("is_well_formed", "end"))
    return None if best.numbers is None else ParsedNumbers(best.numbers, best.have_names)


def is_from_other_numbers(
    reply: str, pair: Sequence[float], point_frac: Sequence[float], image_wh: Sequence[float]
) -> bool:
    """Whether a point comes from other numbers of a reply than from a pair, by one factor.

    Args:
        reply: the text.
        pair: the numbers from which it should come.
        point_frac: the point, in fractions of the image.
        image_wh: size of the image in pixels.
    """
    point_px = point_frac[0] * image_wh[0], point_frac[1] * image_wh[1]

    def is_source(first: float, second: float) -> bool:
        orders = ((first, second), (second, first))
        return any(
            isclose(x * point[1], y * point[0], rel_tol=SAME_RATIO)
            for x, y in orders
            for point in (point_px, point_frac)
        )

    if not all(0 < coordinate < inf for coordinate in point_px) or is_source(*pair):
        return False
    numbers = [float(number) for number in _PLAIN_NUMBER.findall(reply)]
    return any(is_source(*others) for others in pairwise(numbers) if min(others) > 0)


_NUMBER = r"[-+]?(?:\d+(?:\.\d+|\.(?=\s*[,;)\]}]))?|\.\d+)(?:e[-+]?\d+)?"
_UNIT = r"(?:\s?%|\s?(?:px|pixels?))?"  # always followed by what ends a number, or by a quote
_NUMBER_ENDS = rf"(?!{WORD}|%|[.']\d)"


# -- numbers with names ---------------------------------------------------------------------------

_TAIL = r"(?P<tail>[,']\d[\d.,']*|(?: \d{3})+(?!\d))?"  # 1,234 or 0,512 or 1'234 or 1 234
_VALUE = rf"(?P<number>{_NUMBER}){_TAIL}{_UNIT}{_NUMBER_ENDS}"
_NAMED_NUMBER = at_first_use(
    r"(?<![a-z0-9])(?P<name>(?:c|cent(?:er|re)_?)?[xy](?:_?(?:0|1|2|min|max|cent(?:er|re)))?"
    r"|(?<!_)(?:left|top|right|bottom|width|height|w|h))"
    rf"[\"']?\s*[:=]\s*[\"']?{_VALUE}",
    re.IGNORECASE,
)
_BETWEEN_NAMED = re.compile(r"[\s,;\"'%&px]{1,12}|\s*and\s*", re.IGNORECASE)
_POINT_FORMS = (("x", "y"), ("cx", "cy"))
_CORNER_FORMS = (
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("left", "top", "right", "bottom"),
)
_SIZE_FORMS = (("x", "y", "width", "height"), ("left", "top", "width", "height"))
_CENTRE_FORM = ("cx", "cy", "width", "height")
_IMAGE_SIZE = {"width", "height"}  # in front of a point, not of the rest of a box
_SAME_NAMES = {"w": "width", "h": "height"}

# An x and a y with words or signs around them, where each stands in the reply once.
_LONE_NAME = at_first_use(
    r"(?<![a-z0-9_])(?P<name>[xy]|横坐标|纵坐标|橫座標|縱座標)"
    r"(?:[ _-]?(?:coordinate|coord|position|pos|value|axis|坐标|座標))?(?: of [^\d\n:=|]{1,40})?"
    r"[\"'`*)]{0,4}(?:\s{0,4}(?:[:=|≈→~]|->|is|at|为|是|は)){1,2}"
    rf"[\s\"'`*|(]{{0,8}}(?:(?:about|around|approximately|约|大约)\s*)?{_VALUE}"
    r"(?!\s*(?:-|~|to)\s*\d)",
    re.IGNORECASE,
)
_IN_NAMES = set("xyXY坐座")
_Y_NAMES = ("y", "纵坐标", "縱座標")


def _adjacent_names(text: str) -> Iterator[_Candidate]:
    """Find numbers that say what they are: `x=1, y=2`, `{"x1": 1, ...}`; in whatever order."""
    values: dict[str, float] = {}
    start = 0
    end = -1
    is_plain = True
    if ":" not in text and "=" not in text:
        return
    for match in _NAMED_NUMBER().finditer(text):
        name = _plain_name(match["name"])
        is_next = end >= 0 and _BETWEEN_NAMED.fullmatch(text, end, match.start())
        is_image_size = values.keys() == _IMAGE_SIZE and not _is_in_object(text, start)
        if name in values or not is_next or is_image_size:
            values = {}
            is_plain = True
            start = match.start()
        values[name] = float(match["number"])
        is_plain = is_plain and match["tail"] is None
        end = match.end()
        numbers = _numbers_of_form(values)
        if numbers is not None and max(map(abs, numbers)) < LARGEST:
            yield _Candidate(True, end, numbers if is_plain else None, start, have_names=True)


def _is_in_object(text: str, position: int) -> bool:
    """Whether a position is in an object of JSON or in a tag, where names have no order."""
    last_sign = max("}>{<", key=lambda sign: text.rfind(sign, 0, position))
    return last_sign in "{<"


def _plain_name(name: str) -> str:
    name = name.lower().replace("_", "")
    for centre in ("center", "centre"):
        if centre in name:
            return "c" + name.replace(centre, "")
    return _SAME_NAMES.get(name, name)


def _numbers_of_form(values: dict[str, float]) -> Numbers | None:
    """Return a point or the corners of a box; None: these names are neither."""
    names = values.keys()
    for form in (*_POINT_FORMS, *_CORNER_FORMS):
        if names == set(form):
            return tuple(values[name] for name in form)
    for form in _SIZE_FORMS:
        if names == set(form):
            left, top, width, height = (values[name] for name in form)
            return left, top, left + width, top + height
    if names == set(_CENTRE_FORM):
        x, y, width, height = (values[name] for name in _CENTRE_FORM)
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2
    return None


def _lone_names(text: str) -> Iterator[_Candidate]:
    """Find an x and a y of which the text has one each: `the x coordinate is 5 and y is 6`."""
    if _IN_NAMES.isdisjoint(text):
        return
    matches = list(_LONE_NAME().finditer(text))
    if len(matches) != 2 or len({match["name"].lower() in _Y_NAMES for match in matches}) != 2:
        return
    x, y = sorted(matches, key=lambda match: match["name"].lower() in _Y_NAMES)
    numbers = float(x["number"]), float(y["number"])
    if max(map(abs, numbers)) < LARGEST:
        is_plain = x["tail"] is None and y["tail"] is None
        start, end = matches[0].start(), matches[1].end()
        yield _Candidate(True, end, numbers if is_plain else None, start, have_names=True)


# -- numbers side by side -------------------------------------------------------------------------

# Not inside a word (bbox_2d, 1920x1080, v1.2.3); "%" and "px" may follow.
_LONE_NUMBER = at_first_use(
    rf"(?<!{WORD})(?<!\.)(?<!\d')(?P<number>{_NUMBER}){_UNIT}{_NUMBER_ENDS}", re.IGNORECASE
)
# What may stand between two numbers of a point; indented JSON has any number of blanks.
_BETWEEN = re.compile(r"(?:\s++|[,;()\[\]{}|]){1,12}")
_NEXT_GROUP = re.compile(r"[^()\[\]{}]*+[)\]}][^()\[\]{}]*+[(\[{][^()\[\]{}]*+")
_NO_BRACKETS = re.compile(r"[^()\[\]{}]+")
_OPENING_BRACKETS = frozenset("([{")
_BRACKETS = set("()[]{}|")
_OPENING = set("([{<>'\"|")
_CLOSING = set(")]}<>'\"|")
_LABEL = re.compile(r"[\s*`#>-]*(?:[^\n:=]{0,40}[:=])?[\s*`]*")  # "Answer:" in front of numbers
_BEHIND = " \r.*`。"
_QUOTED = rf"(?:\"{_NUMBER}{_UNIT}\"|'{_NUMBER}{_UNIT}')"
_QUOTED_LIST = re.compile(rf"[\[(]\s*+{_QUOTED}(?:\s*+,\s*+{_QUOTED}){{1,3}}\s*+[\])]")


def _plain_numbers(text: str) -> Iterator[_Candidate]:
    """Find runs of two or four numbers with nothing but separators between them."""
    for run in map(partial(_last_group, text), _runs_of_numbers(text)):
        written = [match["number"] for match in run[: LONGEST_RUN + 1]]
        coordinates = _without_confidence(written)
        between = [
            text[one.end() : other.start()] for one, other in pairwise(run[: len(coordinates)])
        ]
        is_readable = not _has_two_ways(coordinates, between)
        if len(run) > LONGEST_RUN or (is_readable and len(coordinates) not in (2, 4)):
            continue
        numbers = tuple(map(float, coordinates))
        if max(map(abs, numbers)) >= LARGEST:
            continue
        start = run[0].start()
        end = run[-1].end()
        before = text[max(0, start - 4) : start].rstrip()
        after = text[end : end + 4].lstrip()
        is_in_brackets = before[-1:] in _OPENING and after[:1] in _CLOSING
        is_well_formed = is_in_brackets or _is_on_own_line(text, start, end)
        yield _Candidate(is_well_formed, end, numbers if is_readable else None, start)


def _runs_of_numbers(text: str) -> list[list[re.Match[str]]]:
    """Return the numbers with nothing but separators between them.

    A bracket that opens behind a number outside of brackets begins a new run: `Page 2 (512, 384)`.
    """
    runs: list[list[re.Match[str]]] = []
    depth = 0  # of the brackets around the last number
    for match in _LONE_NUMBER().finditer(text):
        between = _BETWEEN.fullmatch(text, runs[-1][-1].end(), match.start()) if runs else None
        brackets = _NO_BRACKETS.sub("", between[0]) if between else ""
        opens_anew = depth <= 0 and brackets[:1] in _OPENING_BRACKETS
        if between and not opens_anew:
            runs[-1].append(match)
            opening_count = sum(bracket in _OPENING_BRACKETS for bracket in brackets)
            depth += 2 * opening_count - len(brackets)
        else:
            runs.append([match])
            before = text[max(0, match.start() - LONGEST_LABEL) : match.start()].rstrip()
            depth = int(before[-1:] in _OPENING_BRACKETS)
    return runs


def _last_group(text: str, run: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the last point or box of a list of them, each in brackets; any other run as it is."""
    if len(run) <= LONGEST_RUN:  # two points are the corners of a box
        return run
    groups = [[run[0]]]
    for one, other in pairwise(run):
        if _NEXT_GROUP.fullmatch(text, one.end(), other.start()):
            groups.append([])
        groups[-1].append(other)
    is_list = len({len(group) for group in groups}) == 1
    return groups[-1] if is_list else run


def _without_confidence(written: list[str]) -> list[str]:
    """Return numbers without a last one of 0 to 1 behind whole pixels: [512, 384, 0.98]."""
    *coordinates, last = written
    is_confidence = "." in last and 0 <= float(last) <= 1
    if len(coordinates) in (2, 4) and is_confidence and _are_whole(coordinates):
        return coordinates
    return written


def _are_whole(written: Sequence[str]) -> bool:
    return all(number.isdigit() for number in written)


def _has_two_ways(written: Sequence[str], between: Sequence[str]) -> bool:
    """Whether the signs between whole numbers may also be inside fewer, larger numbers.

    `1,920, 1,080` and `0,512; 0,384` are two numbers for some and four for others, and so are
    `1 920, 1 080` and, as a box without width, `1,920,1,080`.
    """
    if not 3 <= len(written) <= 4 or not _are_whole(written):
        return False
    if any(_BRACKETS & set(separator) for separator in between):
        return False
    if between.count(",") == len(between) or between.count(" ") == len(between):
        x1, y1, x2, y2 = (*written, "")[:4]
        is_small = len(x1) <= 2 and len(x2) <= 2
        return bool(y2) and is_small and int(x2) <= int(x1) and (x1, y1) != (x2, y2)
    if "," in between:
        return sum(separator != "," for separator in between) == 1
    thousands = [
        len(one) <= 2 and len(other) == 3
        for (one, other), separator in zip(pairwise(written), between, strict=True)
        if separator == " "
    ]
    return len(thousands) == len(written) - 2 and all(thousands)


def _is_on_own_line(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - LONGEST_LABEL) : start].rpartition("\n")[2]
    after = text[end : end + LONGEST_LABEL].partition("\n")[0]
    return _LABEL.fullmatch(before) is not None and not after.strip(_BEHIND)


# -- points in tags -------------------------------------------------------------------------------

_POINTS_TAG = re.compile(r"<(?:points?|tracks?)\s([^<>]*+)>", re.IGNORECASE)
_COORDS = re.compile(r"\bcoords\s*=\s*[\"']([^\"']*+)[\"']", re.IGNORECASE)
_NUMBERED = re.compile(rf"\b[xy]\d+\s*=\s*[\"']({_NUMBER})[\"']", re.IGNORECASE)
_PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _without_point_tags(text: str, candidates: list[_Candidate]) -> str:
    """A text with blanks for Molmo's tags of points; their last points go to `candidates`.

    `<points coords="1 1 512 384">`: the image, and of each point its number, x and y.
    `<points x1="51.2" y1="38.4" x2=...>`: several points, not the corners of a box.
    """

    def blank(tag: re.Match[str]) -> str:
        numbers: list[str] = _NUMBERED.findall(tag[1])
        coords = _COORDS.search(tag[1])
        if coords is not None:
            groups = [_PLAIN_NUMBER.findall(group) for group in re.split("[;:,\t]", coords[1])]
            numbers = next((group for group in reversed(groups) if len(group) > 1), [])
        if len(numbers) < 2:
            return tag[0]
        x, y = numbers[-2:]
        candidates.append(_Candidate(True, tag.end(), (float(x), float(y)), tag.start()))
        return " " * len(tag[0])

    return _POINTS_TAG.sub(blank, text)
